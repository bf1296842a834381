"""What a run may know of itself, and whoever it shows its token to: whose it is, and where it can be reached."""

from __future__ import annotations

from dataclasses import dataclass

from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.ports.cluster import Cluster
from hai_scheduler.ports.errors import NotFound
from hai_scheduler.ports.store import Store
from hai_scheduler.service.runs.jobs import live_run


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
    #: Where rank 0 can be reached; None until every rank is up.
    address: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBook:
    """The use case: the Hub learns by it who a spot container's run speaks for."""

    store: Store
    cluster: Cluster

    async def facts(self, run_id: RunId) -> RunFacts:
        """What is known of a live run.

        Raises:
            InTheWay: The run is over, or there never was such a one.
            Temporary: The cluster cannot be asked now.
        """
        async with self.store.read() as tx:
            task, run = await live_run(tx, run_id)
        try:
            addresses = await self.cluster.addresses(run_id)
        except NotFound:
            # Ordered, and not there yet.
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
