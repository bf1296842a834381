"""A service whose database is taken back to an older copy."""

from __future__ import annotations

import copy
from dataclasses import replace
from datetime import timedelta

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.service.origin.orphan_registry import read_orphans
from kit.memory.behaviour import Behaviour
from kit.memory.cluster import notices_of
from kit.memory.state import State
from kit.memory.store import MemoryStore
from unit.service.service_world import Service, user

LONG = Behaviour(work=timedelta(hours=9))


SHORT = Behaviour(work=timedelta(seconds=5))


class World(Service):
    """A service whose store can be taken back to what it was."""

    def backup(self) -> State:
        """The state that a copy of the database's file has."""
        return copy.copy(self.store._state)

    def restore(self, state: State) -> None:
        """The service dies, its database is replaced by the copy, and it starts again."""
        self.store._state = replace(state, lease=self.store._state.lease)
        self.restart()

    async def lose_database(self) -> None:
        """The service dies, its database is deleted, and it starts again."""
        self.store = MemoryStore()
        self.cluster.notices = notices_of(self.store)
        self.restart()
        async with self.store.write() as tx:
            for level in Priority:
                await tx.quotas.put(Quota(subject="public", group="training", priority=level, limit=None))

    async def orphans(self) -> list[str]:
        async with self.store.read() as tx:
            return [orphan.run_id for orphan in await read_orphans(tx) if orphan.live]

    async def mark(self):
        async with self.store.read() as tx:
            return await tx.database.mark()

    async def log(self, task_id: TaskId, who: str) -> list[str]:
        page = await self.platform.logs.reading.page(user(who), str(task_id))
        return [line.text for line in page.lines if line.rank is not None]


async def take_over(world: World) -> None:
    """Let the lease of the dead service run out, so that the new service leads."""
    await world.step(10, ticks=5)
