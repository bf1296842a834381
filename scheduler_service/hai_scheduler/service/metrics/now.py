"""What the cluster does now: the tasks that hold nodes, with what they use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from hai_scheduler.core.metrics.series import Point
from hai_scheduler.core.metrics.use import SUMMED, SummedUse, use_of
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.progress import StepProgress
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.turns import slice_left
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.world import UseCase

#: Tasks of an answer at most.
MOST: Final = 500
#: How old the newest point of a rank may be, seconds: large clusters send every some minutes.
RECENT_S: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class HolderNow:
    """A task that holds nodes, and what it uses."""

    task: Task
    #: Whether the caller may see more of it than who holds which nodes.
    known: bool
    #: What its ranks use; None: nothing was measured lately, or it is not told.
    use: SummedUse | None = None
    #: How long no equal may have its nodes; None: not known.
    turn_left: timedelta | None = None
    progress: StepProgress | None = None
    #: How long the job still has to run.
    left: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldersNow:
    """The tasks that hold nodes: the caller's own first, then those with most nodes."""

    items: Sequence[HolderNow]
    #: How many further tasks there are.
    left_out: int


class NewestUse(UseCase):
    """The use case of users who look at the whole cluster."""

    async def look(self, caller: Caller, *, mine: bool = False, limit: int = MOST) -> HoldersNow:
        """The tasks that hold nodes now.

        Everybody sees who holds the shared nodes (docs/security.md), and of tasks that they may see also the rest.

        Args:
            caller: Who asks.
            mine: Only the caller's own tasks.
            limit: The most tasks of the answer.
        """
        async with self.store.read() as tx:
            holding = [task for task in await tx.tasks.unfinished() if task.live_run is not None]
            wanted = [task for task in holding if not mine or task.user == caller.name]
            wanted.sort(key=lambda task: (task.user != caller.name, -task.nodes, task.id))
            shown = wanted[:limit]
            known = [task for task in shown if caller.may_see(task.user)]
            progress = await tx.progress.of([task.id for task in known])
        now = self.clock.now()
        since = int(now.timestamp()) - RECENT_S
        runs = [run.id for task in known if (run := task.live_run) is not None]
        points = await self.store.series.newest(runs, since=since, names=SUMMED) if runs else {}
        items = [
            self._holder(task, progress.get(task.id), points, now) if caller.may_see(task.user) else _bare(task)
            for task in shown
        ]
        return HoldersNow(items=items, left_out=len(wanted) - len(shown))

    def _holder(
        self, task: Task, progress: StepProgress | None, points: Mapping[RunId, Mapping[int, Point]], now: datetime
    ) -> HolderNow:
        run = task.live_run
        assert run is not None
        ranks = points.get(run.id)
        return HolderNow(
            task=task,
            known=True,
            use=use_of(ranks.values()) if ranks else None,
            turn_left=self._turn_left(task, run, now),
            progress=progress,
            left=None if progress is None else progress.left(now, running_since=run.running_at),
        )

    def _turn_left(self, task: Task, run: Run, now: datetime) -> timedelta | None:
        if run.running_at is None or run.notice is not None or run.killed_at is not None:
            return None
        return slice_left(task, run, self.latest_plan.policies.of(task.group), now)


def _bare(task: Task) -> HolderNow:
    return HolderNow(task=task, known=False)
