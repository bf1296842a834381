"""Facts about a live run for the holder of its token: its task, its owner and its address."""

from __future__ import annotations

from dataclasses import dataclass

from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.ports.cluster import Cluster
from hai_scheduler.ports.errors import Absent
from hai_scheduler.ports.store import Store
from hai_scheduler.service.runs.rank_reports import live_run


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """A live run as it is now."""

    run_id: RunId
    task_id: int
    number: int
    name: str
    user: str
    state: TaskState
    #: The node of rank 0.
    node: str
    #: The address of rank 0; None until every rank is up.
    address: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRegistry:
    """The use case: with a run's token, the Hub finds the user of a spot container."""

    store: Store
    cluster: Cluster

    async def facts(self, run_id: RunId) -> RunFacts:
        """The facts about a live run.

        Raises:
            Conflict: The run is over or does not exist.
            Temporary: The cluster cannot be asked now.
        """
        async with self.store.read() as tx:
            task, run = await live_run(tx, run_id)
        try:
            addresses = await self.cluster.addresses(run_id)
        except Absent:
            # The run was just launched and does not show yet.
            addresses = None
        return RunFacts(
            run_id=run_id,
            task_id=task.id,
            number=run.number,
            name=task.name,
            user=task.user,
            state=task.state,
            node=run.ranks[0].node,
            address=addresses[0] if addresses else None,
        )
