"""Series of metrics: points of time with the least, the mean and the greatest value of each metric."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from hai_scheduler.core.model.limits import JOB_NUMBER

#: The length of the windows that ranks send, seconds.
WINDOW_S: Final = 10
#: Metrics of a rank, with their units.
OF_A_RANK: Final = {
    "cpu": "cores",
    "cpu_throttled": "seconds each second",
    "memory": "bytes",
    "oom_kills": "count",
    "disk_read": "bytes a second",
    "disk_written": "bytes a second",
    "net_received": "bytes a second",
    "net_sent": "bytes a second",
    "ib_received": "bytes a second",
    "ib_sent": "bytes a second",
}
#: Metrics of each of its GPUs, without the number before them (`gpu0_use`), with their units.
OF_A_GPU: Final = {
    "use": "%",
    "memory": "bytes",
    "power": "W",
    "power_limit": "W",
    "clock": "MHz",
    "slowed": "yes or no",
    "errors": "count",
    "processes": "count",
    "sm": "%",
    "tensor": "%",
    "dram": "%",
}
#: What the names of the job's own numbers begin with (`job.report`); they have no unit, and may be negative.
OWN: Final = "job_"
#: Names all of them in a question.
ALL_OWN: Final = f"{OWN}*"
#: GPUs of a rank at most.
MOST_GPUS: Final = 64
_GPU = re.compile(r"gpu(0|[1-9][0-9]?)_([a-z_]+)", re.ASCII)


class Spread(NamedTuple):
    """The least, the mean and the greatest value of a metric within a span of time."""

    least: float
    mean: float
    greatest: float


@dataclass(frozen=True, slots=True)
class Point:
    """The metrics of one span of time."""

    #: The end of the span, Unix time in seconds; its length is the step of the series.
    at: int
    values: Mapping[str, Spread]


@lru_cache(maxsize=4096)
def unit_of(name: str) -> str | None:
    """Return the unit of a metric; None if there is no metric of that name. A number of the job's own has none: ""."""
    if name.startswith(OWN):
        return "" if JOB_NUMBER.fullmatch(name, len(OWN)) else None
    if name in OF_A_RANK:
        return OF_A_RANK[name]
    match = _GPU.fullmatch(name)
    return OF_A_GPU.get(match[2]) if match and int(match[1]) < MOST_GPUS else None


def is_wanted(name: str, names: Collection[str] | None) -> bool:
    """Return whether a question for these metrics (`ALL_OWN` among them: all numbers of the job's own) has this one."""
    return names is None or name in names or (ALL_OWN in names and name.startswith(OWN))


def fold(points: Iterable[Point], step: int) -> list[Point]:
    """Fold points, in order of time, into spans of `step` seconds.

    The mean of a span is the mean of its points' means: a metric that is missing in some of them is the mean of the
    others. Folding twice to the same step changes nothing.
    """
    folded: list[Point] = []
    group: list[Point] = []
    end = 0
    for point in points:
        # A point belongs to the span that its end lies in, or closes.
        span_end = -(-point.at // step) * step
        if group and span_end != end:
            folded.append(_joined(group, end))
            group = []
        end = span_end
        group.append(point)
    if group:
        folded.append(_joined(group, end))
    return folded


def _joined(points: list[Point], at: int) -> Point:
    spreads: dict[str, list[Spread]] = {}
    for point in points:
        for name, spread in point.values.items():
            spreads.setdefault(name, []).append(spread)
    return Point(
        at,
        {name: spread_of(seen) for name, seen in spreads.items()},
    )


def spread_of(seen: Sequence[Spread]) -> Spread:
    """Return the least, the mean of the means, and the greatest of the values of some spans, at least one."""
    if seen.count(seen[0]) == len(seen):
        return seen[0]
    least, means, greatest = zip(*seen, strict=True)
    return Spread(min(least), sum(means) / len(means), max(greatest))
