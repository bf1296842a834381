"""A task goes on with the image that its environment meant at submission."""

from __future__ import annotations

from typing import Any

import pytest

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.ports.images import NoDigest
from hai_scheduler.service.shared.caller import SCOPE_WRITE, Caller
from hai_scheduler.service.tasks.submission import Submission
from kit.builders import an_environment
from unit.service.service_world import Service

ANN = Caller(name="ann", groups=frozenset({"cv"}), scopes=frozenset({SCOPE_WRITE}))


class Registry:
    """A registry in which every image has the same digest."""

    def __init__(self) -> None:
        self.digest = "a" * 64
        self.broken = False
        self.asked: list[str] = []

    async def pinned(self, image: str) -> str:
        self.asked.append(image)
        if self.broken:
            raise NoDigest("registry.example did not answer within 3 s")
        return f"{image}@sha256:{self.digest}"


class World(Service):
    """A service with a registry, whose launches are recorded."""

    def __init__(self) -> None:
        self.registry = Registry()
        super().__init__(images=self.registry)
        self.launches: list[LaunchOrder] = []
        launch = self.cluster.launch

        async def watched(order: LaunchOrder) -> None:
            self.launches.append(order)
            await launch(order)

        self.cluster.launch = watched  # type: ignore[method-assign]

    async def torch(self, image: str | None) -> None:
        async with self.store.write() as tx:
            await tx.environments.put(an_environment("torch", image=image))

    async def send(self, name: str = "t", **fields: Any) -> tuple[TaskId, list[str]]:
        made = Submission(name=name, command=("train",), cwd="/", **fields)
        submissions = self.platform.tasks.submissions
        admitted = await submissions.admit(ANN, made)
        return admitted.task.id, await submissions.warnings(ANN, made, admitted.choice)

    async def image_of(self, task_id: TaskId) -> str | None:
        async with self.store.read() as tx:
            return (await tx.tasks.get_spec(task_id)).image

    async def another_turn(self, task_id: TaskId) -> None:
        await self.platform.tasks.submissions.suspend(ANN, str(task_id))
        await self.step(60)
        await self.platform.tasks.submissions.resume(ANN, str(task_id))
        await self.step(60)


@pytest.fixture
async def world() -> World:
    made = World()
    await made.open()
    await made.torch("registry.example/torch:2")
    return made


async def test_every_turn_has_the_image_of_the_submission_whatever_the_tag_means_then(world: World) -> None:
    first, warnings = await world.send(environment="torch")
    pinned = f"registry.example/torch:2@sha256:{'a' * 64}"
    assert (await world.image_of(first), warnings) == (pinned, [])
    await world.step()
    world.registry.digest = "b" * 64
    await world.torch("registry.example/torch:3")
    await world.another_turn(first)
    assert [order.image for order in world.launches] == [pinned, pinned]
    assert world.registry.asked == ["registry.example/torch:2"], "a start asks nobody"
    new, _ = await world.send(name="new", environment="torch")
    assert await world.image_of(new) == f"registry.example/torch:3@sha256:{'b' * 64}"


async def test_a_registry_that_does_not_answer_costs_no_submission_and_is_named(world: World) -> None:
    world.registry.broken = True
    task, warnings = await world.send(environment="torch")
    assert await world.image_of(task) is None
    said = (
        "environment: the image registry.example/torch:2 is used by its name, which may mean another image at a later "
        "start: registry.example did not answer within 3 s"
    )
    assert warnings == [said]
    await world.step()
    await world.torch("registry.example/torch:3")
    await world.another_turn(task)
    assert [order.image for order in world.launches] == ["registry.example/torch:2", "registry.example/torch:3"]


@pytest.mark.parametrize("environment", [None, "plain"])
async def test_where_no_image_is_named_nobody_is_asked(world: World, environment: str | None) -> None:
    async with world.store.write() as tx:
        await tx.environments.put(an_environment("plain", image=None))
    task, warnings = await world.send(environment=environment)
    assert (await world.image_of(task), warnings, world.registry.asked) == (None, [], [])


async def test_an_environment_that_was_taken_away_gives_no_image(world: World) -> None:
    """The digest is no right: who may not use the environment any more does not start with its image."""
    task, _ = await world.send(environment="torch")
    await world.step()
    async with world.store.write() as tx:
        await tx.environments.delete("torch")
    await world.another_turn(task)
    assert len(world.launches) == 1
