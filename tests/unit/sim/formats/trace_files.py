"""Trace files of a few lines, read, or refused with a message that names place, value and remedy."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from hai_scheduler.sim.formats import FORMATS
from hai_scheduler.sim.formats.errors import TraceError
from hai_scheduler.sim.formats.trace import Trace, TraceReading

PHILLY = "timestamp,duration,num_gpus,gpu_time,cluster\n"
TIRESIAS = "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n"
#: The least that a job of a native trace has.
JOB = {"submitted_at": "2024-01-01", "work_s": 60, "nodes": 1}


def read(folder: Path, name: str, text: str, kind: str = "native", **reading: object) -> Trace:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return FORMATS[kind](str(path), TraceReading(**reading))


def philly(folder: Path, *rows: str, **reading: object) -> Trace:
    return read(folder, "philly.csv", PHILLY + "\n".join(rows) + "\n", "philly", **reading)


def day(number: int, hour: int = 0) -> datetime:
    return datetime(2017, 10, number, hour, tzinfo=UTC)


def assert_refused(folder: Path, kind: str, text: str, where: str, remedy: str) -> None:
    """The file is refused in one line, which begins with its name."""
    with pytest.raises(TraceError) as refused:
        read(folder, "bad.trace", text, kind)
    message = str(refused.value)
    assert message.startswith(str(folder / "bad.trace"))
    assert where in message
    assert remedy in message
    assert "\n" not in message
