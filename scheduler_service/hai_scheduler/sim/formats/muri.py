"""Muri's traces: those of Tiresias, in milliseconds."""

from __future__ import annotations

from hai_scheduler.sim.formats import tiresias
from hai_scheduler.sim.formats.trace import Trace, TraceReading


def read(path: str, reading: TraceReading) -> Trace:
    """Read a trace in the format of Muri. Raises TraceError."""
    return tiresias.read(path, reading, unit=0.001)
