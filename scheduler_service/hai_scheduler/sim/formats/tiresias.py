"""Tiresias' traces: job_id, num_gpu, submit_time, duration, both in seconds. Muri's are the same in milliseconds."""

from __future__ import annotations

from hai_scheduler.sim.formats.source import EPOCH, TraceSource
from hai_scheduler.sim.formats.trace import Trace, Traced, TraceReading, finished, parts_of

_COLUMNS = ("job_id", "num_gpu", "submit_time", "duration")


def read(path: str, reading: TraceReading, *, unit: float = 1.0) -> Trace:
    """Read a trace of Tiresias whose times are in units of `unit` seconds. Raises TraceError."""
    source = TraceSource(path)
    jobs = []
    for job_id, num_gpu, submit_time, duration in source.rows(_COLUMNS):
        nodes, gpus = parts_of(source.count("num_gpu", num_gpu), reading.gpus_per_node)
        at = EPOCH + source.seconds("submit_time", submit_time, unit=unit)
        work = source.seconds("duration", duration, unit=unit)
        jobs.append(Traced(source.line or 0, at, work, nodes, gpus, name=job_id.strip()))
    notes = [f"jobs of {reading.gpus_per_node} GPUs and more get whole nodes, rounded up; smaller ones share a node"]
    return finished(path, jobs, reading, notes=notes)
