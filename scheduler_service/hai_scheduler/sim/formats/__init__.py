"""Traces: files of jobs, read whole or refused with file, line, field, value and remedy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from hai_scheduler.sim.formats import native, philly, tiresias
from hai_scheduler.sim.formats.trace import Trace, TraceReading

#: The function that reads each format.
FORMATS: Mapping[str, Callable[[str, TraceReading], Trace]] = MappingProxyType(
    {"native": native.read, "philly": philly.read, "muri": partial(tiresias.read, unit=1e-3), "tiresias": tiresias.read}
)
