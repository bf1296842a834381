"""A service whose launches are recorded, with a user ann of the group ml."""

from __future__ import annotations

from typing import Any

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.workspace.environments import Environment
from hai_scheduler.core.workspace.mounts import MountRule
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.values import UserRecord
from hai_scheduler.service.shared.caller import SCOPE_WRITE, Caller
from hai_scheduler.service.tasks.submission import Submission
from hai_scheduler.store.store import Store
from kit.memory.behaviour import Behaviour
from unit.service.service_world import ADMIN, Service

ANN = Caller(name="ann", groups=frozenset({"ml"}), scopes=frozenset({SCOPE_WRITE}))


class Watched(Service):
    """A service whose launches are recorded."""

    def __init__(self) -> None:
        super().__init__()
        self.launches: list[LaunchOrder] = []
        self.refuse_launches = False
        order = self.cluster.launch

        async def launch(what: LaunchOrder) -> None:
            if self.refuse_launches:
                raise Temporary("not now")
            self.launches.append(what)
            await order(what)

        self.cluster.launch = launch  # type: ignore[method-assign]

    async def rules(self, *rules: MountRule) -> None:
        for rule in rules:
            await self.platform.workspace.mount_rules.put(ADMIN, rule)

    async def environments(self, *environments: Environment) -> None:
        for environment in environments:
            await self.platform.workspace.images.put(ADMIN, environment)

    async def send(self, name: str = "t", who: Caller = ANN, **fields: Any) -> TaskId:
        task = await self.platform.tasks.submissions.submit(
            who, Submission(name=name, command=("train",), cwd="/", **fields)
        )
        self.cluster.jobs.script(task.id, Behaviour())
        return task.id

    async def spec_environment(self, task_id: TaskId) -> str | None:
        async with self.store.read() as tx:
            return (await tx.tasks.get_spec(task_id)).environment


async def opened() -> Watched:
    service = Watched()
    await service.open()
    await seen(service.store, "ann", "ml")
    return service


async def seen(store: Store, name: str, *groups: str) -> None:
    async with store.write() as tx:
        await tx.users.put(UserRecord(name=name, groups=frozenset(groups)))
