"""Forecasts for users: of a task that waits, or of one that is only thought of."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from datetime import timedelta

from hai_scheduler.core.model import Task, TaskId, TaskState
from hai_scheduler.core.snapshot import Snapshot
from hai_scheduler.ports import Clock, Store, TaskFilter, Tx
from hai_scheduler.service.caller import Caller
from hai_scheduler.service.errors import InTheWay, Invalid, Unavailable
from hai_scheduler.service.forecast import HORIZON, MOST_HORIZON, Bounds, Forecast, foretell, of_running
from hai_scheduler.service.history import KEPT, History
from hai_scheduler.service.lookup import find
from hai_scheduler.service.submissions import Submission, Submissions
from hai_scheduler.service.watch import Watch

_ENDED = frozenset(state for state in TaskState if state.ended)
_HOLDS_NODES = (TaskState.STARTING, TaskState.RUNNING)


@dataclass(slots=True, kw_only=True)
class Forecasts:
    """The use case. One forecast is computed at a time, in a thread, so that nobody else has to wait for it."""

    store: Store
    clock: Clock
    watch: Watch
    submissions: Submissions
    bounds: Bounds = field(default_factory=Bounds)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def of_task(self, caller: Caller, ref: str, *, horizon: timedelta | None = None) -> Forecast:
        """When a task will have its next turn. Raises Unknown, InTheWay, Invalid and Unavailable."""
        bounds = self._bounds(horizon)
        await self.watch.asked()
        async with self.store.read() as tx:
            task = await find(tx, caller, ref)
            if task.state.ended or task.state is TaskState.STOPPING:
                raise InTheWay(
                    f"Task {task.id} is {task.state.value}: nothing of it is still to start. "
                    "`hai submit --dry-run` forecasts a new one."
                )
            if task.state in _HOLDS_NODES:
                return of_running(task, self.clock.now())
            history = await _history(tx, task.group)
        return await self._foretell(self._snapshot(), task, history, bounds, hypothetical=False)

    async def of_submission(
        self, caller: Caller, submission: Submission, *, horizon: timedelta | None = None
    ) -> Forecast:
        """When a task would start that is not submitted; it is checked like one that is. Raises as `submit`."""
        bounds = self._bounds(horizon)
        await self.watch.asked()
        task = await self.submissions.rehearse(caller, submission)
        snapshot = self._snapshot()
        if caller.groups:
            snapshot = replace(snapshot, groups_of={**snapshot.groups_of, caller.name: caller.groups})
        task = replace(task, id=TaskId(max((one.id for one in snapshot.tasks), default=0) + 1))
        async with self.store.read() as tx:
            history = await _history(tx, task.group)
        return await self._foretell(snapshot, task, history, bounds, hypothetical=True)

    def _bounds(self, horizon: timedelta | None) -> Bounds:
        if horizon is None:
            return self.bounds
        if not timedelta(0) < horizon <= MOST_HORIZON:
            raise Invalid(
                "horizon_s",
                horizon.total_seconds(),
                f"look between 1 second and {MOST_HORIZON.days} days ahead; {HORIZON.days} days is the default",
            )
        return replace(self.bounds, horizon=horizon)

    def _snapshot(self) -> Snapshot:
        if self.watch.snapshot is None:
            raise Unavailable("The scheduler has not looked at the cluster yet: try again in a few seconds.")
        return replace(self.watch.snapshot, now=self.clock.now())

    async def _foretell(
        self, snapshot: Snapshot, task: Task, history: History, bounds: Bounds, *, hypothetical: bool
    ) -> Forecast:
        async with self._turn:
            return await asyncio.to_thread(
                foretell, snapshot, self.watch.policies, task, history, bounds, hypothetical=hypothetical
            )


async def _history(tx: Tx, group: str) -> History:
    return History(await tx.list_tasks(TaskFilter(states=_ENDED, group=group), before=None, limit=KEPT))
