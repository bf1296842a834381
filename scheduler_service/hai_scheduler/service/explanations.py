"""Why a task waits, with what would let it start: the latest tick's view, asked of `plan` itself."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from hai_scheduler.core.alternatives import WhatIf
from hai_scheduler.core.model import Task
from hai_scheduler.core.what_if import MOST_PLANS, counterfactuals, with_task
from hai_scheduler.ports import Clock
from hai_scheduler.service.caller import Caller
from hai_scheduler.service.queries import Queries, TaskView
from hai_scheduler.service.watch import Watch

#: How long one explanation may take, about: the longer a plan takes, the fewer are made.
SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A task as it is now, and what would let it start."""

    view: TaskView
    what_if: Sequence[WhatIf]


@dataclass(slots=True, kw_only=True)
class Explanations:
    """The use case. What was found for a task holds until the next tick."""

    queries: Queries
    clock: Clock
    watch: Watch
    #: One at a time: a panel that asks for many tasks does not take the process from the scheduler.
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _found: dict[Task, tuple[WhatIf, ...]] = field(default_factory=dict)
    #: The tick that `_found` belongs to.
    _tick: int = -1

    async def explain(self, caller: Caller, ref: str) -> Explanation:
        """The task and its counterfactuals, none before the first look. Raises Unknown."""
        await self.watch.asked()
        view = await self.queries.summary(caller, ref)
        return Explanation(view=view, what_if=await self._what_if(view.task))

    async def _what_if(self, task: Task) -> tuple[WhatIf, ...]:
        snapshot = self.watch.snapshot
        most_plans = min(MOST_PLANS, int(SECONDS / max(self.watch.plan_seconds, 1e-6)))
        # The first plan only shows how it is.
        if snapshot is None or not task.state.waiting or most_plans < 2:
            return ()
        async with self._turn:
            if self._tick != self.watch.ticks:
                self._tick = self.watch.ticks
                self._found.clear()
            if task not in self._found:
                # The task may have changed, or come, since the tick; plans are slow enough to keep others waiting.
                now = with_task(replace(snapshot, now=self.clock.now()), task)
                self._found[task] = await asyncio.to_thread(
                    counterfactuals, now, self.watch.policies, task.id, most_plans=most_plans
                )
            return self._found[task]
