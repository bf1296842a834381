"""The newest points of a task, as its ranks send them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from hai_scheduler.core.metrics.series import WINDOW_S, Point
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task
from hai_scheduler.service.metrics.pace import Pace
from hai_scheduler.service.metrics.reading import RANKS, RunPoints, TaskPoints, check_names, only
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import Invalid
from hai_scheduler.service.shared.lookup import find
from hai_scheduler.service.shared.topics import points_topic
from hai_scheduler.service.shared.world import UseCase

#: Points of this time before the beginning come first, unless the reader names a time; earlier ones than `FURTHEST`
#: are read as a series.
BACK: Final = timedelta(minutes=1)
FURTHEST: Final = timedelta(minutes=10)
#: How long after its end a run may still send points that are followed.
AFTER_END: Final = timedelta(seconds=30)
#: The longest time between two looks, seconds: a lost ring, or a rank that sends to another replica, delays points by
#: that.
LOOK_EVERY: Final = 5.0
#: The least time between two messages, seconds: the ranks of a gang send their points one after the other.
GATHER_S: Final = 1.0
#: Ranks of a stream at most.
MOST_RANKS: Final = 64


@dataclass(frozen=True, slots=True)
class NewPoints:
    """Points that a reader did not have yet."""

    points: TaskPoints
    #: Where another stream goes on behind these, Unix time in seconds. It may repeat some points, and leaves none out.
    resume: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """How far a reader has come."""

    #: Points that end by this time are not sent, Unix time in seconds.
    begin: int
    ranks: Sequence[int]
    names: Sequence[str] | None
    #: The end of the newest point that was sent, by run and rank.
    ends: dict[tuple[RunId, int], int] = field(default_factory=dict)

    def after(self, run: Run) -> dict[int, int]:
        return {rank: self.ends.get((run.id, rank), self.begin) for rank in self.ranks if rank < len(run.ranks)}

    def took(self, run: Run, found: Mapping[int, Sequence[Point]]) -> None:
        self.ends.update({(run.id, rank): points[-1].at for rank, points in found.items()})


@dataclass(slots=True, eq=False)
class NewestPoints(UseCase):
    """The use case of users who watch a task."""

    pace: Pace

    async def follow(
        self,
        caller: Caller,
        ref: str,
        *,
        since: datetime | None = None,
        ranks: Sequence[int] | None = None,
        names: Sequence[str] | None = None,
    ) -> AsyncGenerator[NewPoints | None, None]:
        """The points of a task as they come, until the task has ended; None when a look has found none.

        Args:
            caller: Who asks.
            ref: The task.
            since: Only points that end after this time, of the last ten minutes; None: from a minute ago on.
            ranks: The ranks, at most 64; None: the first 16.
            names: The metrics; None: all.

        Raises:
            NotFound: There is no such task that the caller may see.
            Invalid: A name is no metric, or there are too many ranks.
        """
        check_names(names)
        if ranks is not None and len(set(ranks)) > MOST_RANKS:
            raise Invalid("ranks", len(set(ranks)), f"a stream has {MOST_RANKS} ranks at most: name fewer")
        now = self.clock.now()
        begin = max(since or now - BACK, now - FURTHEST)
        chosen = range(RANKS) if ranks is None else sorted(set(ranks))
        place = _Place(begin=int(begin.timestamp()), ranks=chosen, names=names)
        while True:
            task, runs = await self._runs(caller, ref)
            # Listen before the look: what comes after it rings.
            async with self.bus.listen(*(points_topic(run.id) for run in runs)) as ears:
                found = await self._look(task, runs, place)
                yield found
                if found is None and task.state.ended and not runs:
                    return
                if found is not None:
                    await self.clock.sleep(GATHER_S)
                await ears.wait(LOOK_EVERY)

    async def _runs(self, caller: Caller, ref: str) -> tuple[Task, list[Run]]:
        """The task, and those of its runs that may send points."""
        earliest = self.clock.now() - AFTER_END
        async with self.store.read() as tx:
            task = await find(tx, caller, ref)
            runs = [run for run in await tx.runs.of_task(task.id) if run.ended_at is None or run.ended_at > earliest]
        for run in runs:
            self.pace.watch(run.id, self.clock.steady())
        return task, runs

    async def _look(self, task: Task, runs: Sequence[Run], place: _Place) -> NewPoints | None:
        found = []
        for run in runs:
            series = await self.store.series.newer(run.id, place.after(run))
            place.took(run, series)
            if series:
                found.append(RunPoints(run=run, ranks={rank: only(one, place.names) for rank, one in series.items()}))
        if not found:
            return None
        ends = [end for run in runs for end in place.after(run).values()]
        return NewPoints(TaskPoints(task=task, step=WINDOW_S, runs=found), min(ends))
