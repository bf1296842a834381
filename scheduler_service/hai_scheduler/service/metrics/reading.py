"""Reads the metrics of a task, over all its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from hai_scheduler.core.metrics.series import ALL_OWN, WINDOW_S, Point, fold, is_wanted, unit_of
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task
from hai_scheduler.service.metrics.pace import Pace
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import Invalid
from hai_scheduler.service.shared.lookup import find
from hai_scheduler.service.shared.world import UseCase

#: Points of a rank in an answer, about: a picture is not wider.
POINTS: Final = 600
#: Points of an answer at most, over all ranks.
MOST_POINTS: Final = 20_000
#: Ranks of an answer, unless the reader names some.
RANKS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPoints:
    """The metrics of one run."""

    run: Run
    #: Points of each rank that has sent some, in order of time.
    ranks: Mapping[int, Sequence[Point]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPoints:
    """The metrics of a task, run by run."""

    task: Task
    #: The length of the spans, seconds. Old points may be of a coarser step.
    step: int
    runs: Sequence[RunPoints]


@dataclass(slots=True, eq=False)
class Series(UseCase):
    """The use case of users who look at metrics."""

    pace: Pace

    async def read(
        self,
        caller: Caller,
        ref: str,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        step: int | None = None,
        run: int | None = None,
        ranks: Sequence[int] | None = None,
        names: Sequence[str] | None = None,
    ) -> TaskPoints:
        """The metrics of a task.

        Args:
            caller: Who asks.
            ref: The task.
            since: Only points that end after this time; None: from the first run on.
            until: Only points that end by this time; None: to the newest.
            step: The length of the spans in seconds; None: as suits the time between `since` and `until`.
            run: The number of one run; None: all runs.
            ranks: The ranks; None: the first 16.
            names: The metrics; None: all.

        Raises:
            NotFound: There is no such task that the caller may see.
            Invalid: A name is no metric, or the answer would be too large.
        """
        check_names(names)
        async with self.store.read() as tx:
            task = await find(tx, caller, ref)
            runs = [one for one in await tx.runs.of_task(task.id) if run is None or one.number == run]
        now = self.clock.now()
        begin = since or min((one.started_at for one in runs), default=now)
        end = until or max((one.ended_at or now for one in runs), default=now) + timedelta(seconds=2 * WINDOW_S)
        chosen = step or _suitable(end - begin)
        wanted = set(range(RANKS)) if ranks is None else set(ranks)
        found, left = [], MOST_POINTS
        for one in runs:
            if one.started_at > end or (one.ended_at or now) + timedelta(seconds=WINDOW_S) < begin:
                continue
            if one.live:
                self.pace.watch(one.id, self.clock.steady())
            series = await self._of_run(one, begin, end, chosen, wanted, names)
            left -= sum(map(len, series.values()))
            if left < 0:
                raise Invalid(
                    "step", chosen, f"gives more than {MOST_POINTS} points: name a longer step or fewer ranks"
                )
            found.append(RunPoints(run=one, ranks=series))
        return TaskPoints(task=task, step=chosen, runs=found)

    async def _of_run(
        self, run: Run, begin: datetime, end: datetime, step: int, ranks: set[int], names: Sequence[str] | None
    ) -> dict[int, Sequence[Point]]:
        series = await self.store.series.read(
            run.id,
            since=int(begin.timestamp()),
            until=int(end.timestamp()),
            step=step,
            ranks=sorted(ranks),
            names=names,
        )
        return {rank: fold(points, step) for rank, points in series.items()}


def check_names(names: Sequence[str] | None) -> None:
    """Raise Invalid for a name that is no metric."""
    for name in names or ():
        if name != ALL_OWN and unit_of(name) is None:
            raise Invalid("names", name, "is not a metric: docs/metrics.md lists them")


def only(points: Sequence[Point], names: Sequence[str] | None) -> Sequence[Point]:
    """Return the points with these metrics alone; None: with all of them."""
    if names is None:
        return points
    return [
        Point(one.at, {name: value for name, value in one.values.items() if is_wanted(name, names)}) for one in points
    ]


def _suitable(span: timedelta) -> int:
    """Return a step with which a span has about `POINTS` points."""
    seconds = span.total_seconds() / POINTS
    for step in (10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600):
        if seconds <= step:
            return step
    return 86400
