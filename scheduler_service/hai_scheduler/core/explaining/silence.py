"""Whether a running task shows no sign of life: nothing printed, nothing saved, nothing computed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from hai_scheduler.core.metrics.series import Point

#: A task that has shown no sign for so long is said to be silent.
SILENT_AFTER: Final = timedelta(minutes=10)
#: From here on a GPU or the processors are in use: per cent, and cores.
GPU_USED: Final = 1.0
CORES_USED: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class SignsOfLife:
    """When a run has last shown each sign; None: never, or it is not known."""

    printed: datetime | None
    saved: datetime | None
    #: GPUs, or else processors, were in use.
    used: datetime | None
    gpus: bool


def last_use(points: Iterable[Point]) -> tuple[int | None, bool]:
    """The end of the last point in which something was computed (Unix time), and whether it is known of GPUs."""
    gpu: int | None = None
    cpu: int | None = None
    gpus = False
    for point in points:
        for name, spread in point.values.items():
            if name.startswith("gpu") and name.endswith("_use"):
                gpus = True
                if spread.greatest >= GPU_USED:
                    gpu = max(gpu or 0, point.at)
            elif name == "cpu" and spread.mean >= CORES_USED:
                cpu = max(cpu or 0, point.at)
    return (gpu if gpus else cpu), gpus


def silent(signs: SignsOfLife, *, running_since: datetime, now: datetime) -> bool:
    """Whether a task that has run since then has shown no sign for long."""
    known = [at for at in (signs.printed, signs.saved, signs.used) if at is not None]
    return now - max([running_since, *known]) >= SILENT_AFTER
