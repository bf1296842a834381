"""Explains why a task waits and what would let it start, with the latest view and the planner itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from hai_scheduler.core.explaining.alternatives import WhatIf
from hai_scheduler.core.explaining.silence import SILENT_AFTER, SignsOfLife, last_use, silent
from hai_scheduler.core.explaining.what_if import MOST_PLANS
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.core.ordering.shares import UserShare, user_share
from hai_scheduler.core.workspace.fabrics import NoFabric
from hai_scheduler.ports.errors import Absent, Temporary
from hai_scheduler.ports.reading import in_reader
from hai_scheduler.service.accounting.standings import budget_notes
from hai_scheduler.service.insight.queries import Queries, TaskView
from hai_scheduler.service.logs.lines import last_lines_of
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.orders import ComputePool, SnapshotFacts, WhatIfOrder
from hai_scheduler.service.shared.world import UseCase
from hai_scheduler.service.workspace.fabrics import Fabrics

#: About how many seconds one explanation may take: the longer a plan takes, the fewer are made.
SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A task as it is now, and changes that would let it start."""

    view: TaskView
    what_if: Sequence[WhatIf]
    #: The last signs of life of a running task that shows none; None: it does, or it does not run.
    silence: SignsOfLife | None = None
    #: For a task that waits: what its user has had of the node group, and is entitled to (O3); else None.
    share: UserShare | None = None
    #: For a task that waits and counts as LOW because budgets are used up (Q7): a sentence for each of them.
    budgets: Sequence[str] = ()
    #: Why its ranks speak over TCP where others have a fabric; None: they do not, or the task has ended.
    no_fabric: NoFabric | None = None


@dataclass(slots=True, eq=False)
class Explanations(UseCase):
    """The use case. A result is kept until the next tick."""

    queries: Queries
    workers: ComputePool
    fabrics: Fabrics
    silence: Silence = field(init=False)
    _found: dict[Task, tuple[WhatIf, ...]] = field(default_factory=dict)
    #: The tick that `_found` belongs to.
    _tick: int = -1

    def __post_init__(self) -> None:
        self.silence = Silence(self.world)

    async def explain(self, caller: Caller, ref: str) -> Explanation:
        """The task with its what-ifs (none before the first look). Raises NotFound, TooMany and Unavailable."""
        await self.latest_plan.asked()
        view = await self.queries.summary(caller, ref)
        return Explanation(
            view=view,
            what_if=await self._what_if(caller, view.task),
            silence=await self.silence.of(view.task),
            share=self._share(view.task),
            budgets=await self._budgets(view.task),
            no_fabric=await self._no_fabric(view.task),
        )

    async def _budgets(self, task: Task) -> Sequence[str]:
        snapshot = self.latest_plan.snapshot
        if snapshot is None or not task.state.waiting or task.user not in snapshot.counted_low:
            return ()
        async with self.store.read() as tx:
            return await budget_notes(tx, snapshot.groups_of.get(task.user, frozenset()), over=True)

    async def _no_fabric(self, task: Task) -> NoFabric | None:
        if task.state.ended:
            return None
        return await self.fabrics.lacking(task.user, (), task.group, nodes=task.nodes, whole=not task.gpus)

    def _share(self, task: Task) -> UserShare | None:
        snapshot = self.latest_plan.snapshot
        if snapshot is None or not task.state.waiting or task.held:
            return None
        return user_share(snapshot, self.latest_plan.policies.of(task.group), task)

    async def _what_if(self, caller: Caller, task: Task) -> tuple[WhatIf, ...]:
        snapshot, tick = self.latest_plan.snapshot, self.latest_plan.ticks
        most_plans = min(MOST_PLANS, int(SECONDS / max(self.latest_plan.plan_seconds, 1e-6)))
        # The first plan is the one without a change.
        if snapshot is None or not task.state.waiting or most_plans < 2:
            return ()
        if self._tick != tick:
            self._tick = tick
            self._found.clear()
        if task not in self._found:
            order = WhatIfOrder(task=task, now=self.clock.now(), most_plans=most_plans)
            facts = SnapshotFacts(nodes=snapshot.nodes, policies=self.latest_plan.policies)
            found = tuple(await self.workers.do(caller.name, order, facts))
            if self._tick != tick:
                return found  # not kept: there has been a newer tick
            self._found[task] = found
        return self._found[task]


#: Ranks that are looked at, and how far back.
RANKS: Final = 16
BACK: Final = timedelta(hours=6)
#: How much of the end of a log is read, in bytes; longer than a line.
READ_BYTES: Final = 128 * 1024
#: The last of its lines, one of which has a time stamp.
READ_LINES: Final = 1000
#: An offset behind the end of any log.
_BEHIND: Final = 10**15


class Silence(UseCase):
    """The use case: since when a task that runs shows no sign of life."""

    async def of(self, task: Task) -> SignsOfLife | None:
        """The last signs of a silent task; None for any other."""
        run, now = task.live_run, self.clock.now()
        if task.state is not TaskState.RUNNING or run is None or run.running_at is None:
            return None
        if now - run.running_at < SILENT_AFTER:
            return None
        printed = [at for rank in range(min(RANKS, len(run.ranks))) if (at := await self._printed(run, rank))]
        try:
            series = await self.store.series.read(
                run.id,
                since=int((now - BACK).timestamp()),
                until=int(now.timestamp()),
                step=60,
                ranks=list(range(RANKS)),
            )
        except Temporary:
            return None
        used, gpus = last_use(point for points in series.values() for point in points)
        signs = SignsOfLife(
            printed=max(printed, default=None),
            saved=None if run.checkpoint is None else run.checkpoint.at,
            used=None if used is None else datetime.fromtimestamp(used, UTC),
            gpus=gpus,
        )
        return signs if silent(signs, running_since=run.running_at, now=now) else None

    async def _printed(self, run: Run, rank: int) -> datetime | None:
        """When the rank has printed its last line; None if that is not known."""
        try:
            end = (await self.cluster.read_log(run.id, rank, offset=_BEHIND, limit=1)).start
            chunk = await self.cluster.read_log(run.id, rank, offset=max(0, end - READ_BYTES), limit=READ_BYTES)
        except (Absent, Temporary):
            return None
        lines = await in_reader(lambda: last_lines_of(run.number, rank, [chunk], READ_LINES))
        return next((line.at for line in reversed(lines) if line.at is not None), None)
