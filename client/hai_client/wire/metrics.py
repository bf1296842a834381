"""The metrics of tasks, as frozen dataclasses.

Written by `make reference` from the models of the service: change those, not this. Times are aware
datetimes; lengths of time are seconds in fields that end in `_s`; states, priorities, kinds and reasons are the plain
words of the wire.
"""

from __future__ import annotations

from datetime import datetime

from hai_client.backports import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSeries:
    """The metrics of a rank in one run: of each metric a list, with None where a point has no value."""

    rank: int
    node: str
    #: Ends of the spans, Unix time in seconds.
    at: tuple[int, ...]
    least: dict[str, tuple[float | None, ...]]
    mean: dict[str, tuple[float | None, ...]]
    greatest: dict[str, tuple[float | None, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSeries:
    """The metrics of one run."""

    run: int
    started_at: datetime
    running_at: datetime | None = None
    #: When the run was told to leave.
    noticed_at: datetime | None = None
    ended_at: datetime | None = None
    ranks: tuple[RankSeries, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSeries:
    """The metrics of a task, run by run."""

    #: The length of the spans, seconds; old points may be of a coarser step.
    step: int
    #: The unit of each metric that occurs.
    units: dict[str, str]
    runs: tuple[RunSeries, ...]
