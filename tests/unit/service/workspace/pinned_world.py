"""A service with environments of haienv, whose launches are recorded."""

from __future__ import annotations

from typing import Any

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.pins import Pin
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.service.shared.caller import SCOPE_WRITE, Caller
from hai_scheduler.service.tasks.submission import Submission
from kit.builders import a_pin
from kit.memory.behaviour import Behaviour
from kit.memory.clock import VirtualClock
from kit.memory.haienvs import MemoryHaienvs
from unit.service.service_world import Service

ANN = Caller(name="ann", groups=frozenset({"cv"}), scopes=frozenset({SCOPE_WRITE}))


MINE = a_pin(generation=3)


LATER = a_pin(generation=4, digest=f"sha256:{'4' * 64}")


class World(Service):
    """A service with environments, whose launches are recorded."""

    def __init__(self) -> None:
        self.environments = MemoryHaienvs(clock=VirtualClock())
        super().__init__(haienvs=self.environments)
        self.environments.clock = self.clock
        self.launches: list[LaunchOrder] = []
        launch = self.cluster.launch

        async def watched(order: LaunchOrder) -> None:
            self.launches.append(order)
            await launch(order)

        self.cluster.launch = watched  # type: ignore[method-assign]

    async def send(self, name: str = "t", does: Behaviour | None = None, **fields: Any) -> TaskId:
        made = Submission(**{"name": name, "command": ("train",), "cwd": "/", **fields})
        admitted = await self.platform.tasks.submissions.admit(ANN, made)
        self.cluster.jobs.script(admitted.task.id, does or Behaviour())
        return admitted.task.id

    async def warned(self, **fields: Any) -> list[str]:
        made = Submission(name="t", command=("train",), cwd="/", **fields)
        submissions = self.platform.tasks.submissions
        return await submissions.warnings(ANN, made, (await submissions.admit(ANN, made)).choice)

    async def pin(self, task_id: TaskId) -> Pin | None:
        async with self.store.read() as tx:
            return (await tx.tasks.get_spec(task_id)).haienv

    async def pins_of_runs(self, task_id: TaskId) -> list[Pin | None]:
        async with self.store.read() as tx:
            return [run.haienv for run in await tx.runs.of_task(task_id)]

    async def suspend_and_resume(self, task_id: TaskId) -> None:
        await self.platform.tasks.submissions.suspend(ANN, str(task_id))
        await self.step(60)
        await self.platform.tasks.submissions.resume(ANN, str(task_id))
        await self.step(60)
