"""Microsoft's Philly trace as adaptdl publishes it: timestamp, duration, num_gpus, gpu_time, cluster."""

from __future__ import annotations

from hai_scheduler.sim.formats.source import TraceSource
from hai_scheduler.sim.formats.trace import Trace, Traced, TraceReading, finished, parts_of

_COLUMNS = ("timestamp", "duration", "num_gpus", "cluster")


def read(path: str, reading: TraceReading) -> Trace:
    """Read a trace of Philly; a virtual cluster becomes a user group, times are UTC. Raises TraceError."""
    source = TraceSource(path)
    jobs = []
    for timestamp, duration, num_gpus, cluster in source.rows(_COLUMNS):
        nodes, gpus = parts_of(source.count("num_gpus", num_gpus), reading.gpus_per_node)
        at = source.time("timestamp", timestamp)
        work = source.seconds("duration", duration)
        jobs.append(Traced(source.line or 0, at, work, nodes, gpus, user_group=cluster))
    notes = [
        f"jobs of {reading.gpus_per_node} GPUs and more get whole nodes, rounded up; smaller ones share a node",
        f"virtual clusters are user groups of one pool: {', '.join(sorted(reading.only)) or 'all of them'}",
    ]
    return finished(path, jobs, reading, notes=notes)
