"""Facts about a live run for the holder of its token: its task, its owner and its address."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.ports.errors import Absent
from hai_scheduler.service.runs.rank_reports import live_run
from hai_scheduler.service.shared.world import UseCase

#: Tasks whose users are remembered at most: they never change.
MOST_TASKS: Final = 4096


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


@dataclass(slots=True, eq=False)
class RunRegistry(UseCase):
    """The use case: with a run's token, the Hub finds the user of a spot container."""

    _users: OrderedDict[TaskId, str] = field(default_factory=OrderedDict, init=False)

    async def user_of(self, run_id: RunId) -> str | None:
        """The user whose run it is, also after its end; None if its task is gone."""
        number = run_id.partition(".")[0]
        task_id = TaskId(int(number) if number.isascii() and number.isdigit() else 0)
        user = self._users.get(task_id)
        if user is None:
            async with self.store.read() as tx:
                try:
                    user = (await tx.tasks.get(task_id)).user
                except Absent:
                    return None
            self._users[task_id] = user
            while len(self._users) > MOST_TASKS:
                self._users.popitem(last=False)
        return user

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
