"""Explains why a task waits and what would let it start, with the latest view and the planner itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from hai_scheduler.core.explaining.alternatives import WhatIf
from hai_scheduler.core.explaining.silence import SignsOfLife
from hai_scheduler.core.explaining.what_if import MOST_PLANS
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.shares import UserShare, user_share
from hai_scheduler.service.accounting.standings import budget_notes
from hai_scheduler.service.insight.queries import Queries, TaskView
from hai_scheduler.service.insight.silence import Silence
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.orders import ComputePool, SnapshotFacts, WhatIfOrder
from hai_scheduler.service.shared.world import UseCase

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


@dataclass(slots=True, eq=False)
class Explanations(UseCase):
    """The use case. A result is kept until the next tick."""

    queries: Queries
    workers: ComputePool
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
        )

    async def _budgets(self, task: Task) -> Sequence[str]:
        snapshot = self.latest_plan.snapshot
        if snapshot is None or not task.state.waiting or task.user not in snapshot.counted_low:
            return ()
        async with self.store.read() as tx:
            return await budget_notes(tx, snapshot.groups_of.get(task.user, frozenset()), over=True)

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
