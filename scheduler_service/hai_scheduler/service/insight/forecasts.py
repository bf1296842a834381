"""Forecasts for users: of a task that waits, or of one that is not submitted yet."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta

from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.service.insight.forecast import Forecast, of_running
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import Conflict, Invalid, Unavailable
from hai_scheduler.service.shared.lookup import find
from hai_scheduler.service.shared.orders import HORIZON, MOST_HORIZON, Bounds, ComputePool, ForecastOrder, SnapshotFacts
from hai_scheduler.service.shared.world import UseCase
from hai_scheduler.service.tasks.submission import Submission
from hai_scheduler.service.tasks.submissions import Submissions

_HOLDS_NODES = (TaskState.STARTING, TaskState.RUNNING)


@dataclass(slots=True, eq=False)
class Forecasts(UseCase):
    """The use case. Workers compute the forecasts; users take turns."""

    submissions: Submissions
    workers: ComputePool
    bounds: Bounds = field(default_factory=Bounds)

    async def of_task(self, caller: Caller, ref: str, *, horizon: timedelta | None = None) -> Forecast:
        """The forecast of a task's next turn. Raises NotFound, Conflict, Invalid, TooMany and Unavailable."""
        bounds = self._bounds(horizon)
        await self.latest_plan.asked()
        async with self.store.read() as tx:
            task = await find(tx, caller, ref)
            if task.state.ended or task.state is TaskState.STOPPING:
                raise Conflict(
                    f"Task {task.id} is {task.state.value} and will not start again. "
                    "`hai submit --dry-run` forecasts a new one."
                )
            if task.state in _HOLDS_NODES:
                return of_running(task, self.clock.now())
        return await self._foretell(caller, task, bounds, hypothetical=False)

    async def of_submission(
        self, caller: Caller, submission: Submission, *, horizon: timedelta | None = None
    ) -> Forecast:
        """The forecast of a task that is not submitted; it is checked like a submission.

        Raises the same as `submit`, and TooMany and Unavailable.
        """
        bounds = self._bounds(horizon)
        await self.latest_plan.asked()
        task = await self.submissions.rehearse(caller, submission)
        return await self._foretell(caller, task, bounds, hypothetical=True, groups=caller.groups or None)

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

    async def _foretell(
        self, caller: Caller, task: Task, bounds: Bounds, *, hypothetical: bool, groups: frozenset[str] | None = None
    ) -> Forecast:
        snapshot = self.latest_plan.snapshot
        if snapshot is None:
            raise Unavailable("The scheduler has not looked at the cluster yet: try again in a few seconds.")
        order = ForecastOrder(task=task, now=self.clock.now(), bounds=bounds, hypothetical=hypothetical, groups=groups)
        found = await self.workers.do(
            caller.name, order, SnapshotFacts(nodes=snapshot.nodes, policies=self.latest_plan.policies)
        )
        assert isinstance(found, Forecast)
        return found
