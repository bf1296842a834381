"""What a task has found in an image counts for later submissions, unless an admin has said something of it."""

from __future__ import annotations

import pytest

from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.workspace.abi import Needs, PlatformImage
from hai_scheduler.core.workspace.builds import BuildVerb, EnvironmentBuild
from hai_scheduler.ports.images import NoDigest
from hai_scheduler.service.shared.errors import Invalid
from kit.builders import an_environment
from kit.memory.behaviour import Behaviour
from unit.service.service_world import ADMIN
from unit.service.workspace.pinned_world import ANN, MINE, World

A, B = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"


class Registry:
    """A registry in which every image has one digest; with an empty one it does not answer."""

    digest = A

    async def pinned(self, image: str) -> str:
        if not self.digest:
            raise NoDigest("registry.example did not answer within 3 s")
        return f"{image}@{self.digest}"


class Images(World):
    """A platform whose ranks run in images."""

    def __init__(self, platform: PlatformImage) -> None:
        super().__init__()
        self.registry = Registry()
        self.images, self.platform_image = self.registry, platform
        self.restart()

    async def ran(self, glibc: str, machine: str = "x86_64", rank: int = 0, **fields: object) -> TaskId:
        """A task starts, and its supervisor tells what it has found."""
        task = await self.send(**fields)
        await self.step()
        await self.platform.runs.images.take(RunId(f"{task}.1"), rank, machine, glibc)
        await self.step(3600 * 10)
        return task

    async def refused(self) -> str:
        with pytest.raises(Invalid) as caught:
            await self.send(environment="vision")
        assert caught.value.field == "environment"
        return caught.value.message


async def made(**said: str) -> Images:
    found = Images(PlatformImage(image="hai-task:1", **said))
    await found.open()
    found.environments.publish(MINE)
    found.environments.needs[MINE.name] = Needs(machine="x86_64", glibc="2.34")
    return found


@pytest.fixture
async def images() -> Images:
    return await made()


async def test_of_the_platforms_image_counts_what_a_task_has_found(images: Images) -> None:
    assert await images.pin(await images.send(environment="vision")) == MINE, "nothing is known yet"
    task = await images.ran("2.31")
    assert f"needs glibc 2.34, and the platform's image hai-task:1 (found by task {task}) has 2.31" in (
        await images.refused()
    )


async def test_of_the_platforms_image_counts_what_the_settings_say_before_all() -> None:
    images = await made(glibc="2.28")
    await images.ran("2.36")
    assert "the platform's image hai-task:1 has 2.28" in await images.refused()


async def test_another_architecture_is_refused_too(images: Images) -> None:
    task = await images.ran("2.39", machine="aarch64")
    assert f"is for x86_64, and the platform's image hai-task:1 (found by task {task}) is for aarch64" in (
        await images.refused()
    )


async def test_an_image_is_known_by_the_digest_that_its_tag_has(images: Images) -> None:
    await images.platform.workspace.images.put(ADMIN, an_environment("torch", default=True, image="torch:2"))
    task = await images.ran("2.31")
    assert f"the image torch (found by task {task}) has 2.31" in await images.refused()
    images.registry.digest = B
    assert await images.pin(await images.send(environment="vision")) == MINE, "the tag names another image now"
    images.registry.digest = A
    await images.ran("2.36")
    assert f"found by task {task}" in await images.refused(), "what a digest names does not change"


async def test_without_a_registry_the_newest_word_on_a_tag_counts(images: Images) -> None:
    images.registry.digest = ""
    await images.platform.workspace.images.put(ADMIN, an_environment("torch", default=True, image="torch:2"))
    await images.ran("2.31")
    assert "has 2.31" in await images.refused()
    await images.ran("2.36")
    assert await images.pin(await images.send(environment="vision")) == MINE


async def test_an_admins_word_on_an_image_counts_before_what_was_found(images: Images) -> None:
    await images.platform.workspace.images.put(
        ADMIN, an_environment("torch", default=True, image="torch:2", glibc="2.36", machine="x86_64")
    )
    await images.ran("2.31")
    assert await images.pin(await images.send(environment="vision")) == MINE


async def test_what_is_found_counts_for_its_own_image_alone(images: Images) -> None:
    await images.platform.workspace.images.put(ADMIN, an_environment("old", image="old:1"))
    await images.ran("2.17", environment="old")
    assert await images.pin(await images.send(environment="vision")) == MINE


async def test_the_image_of_a_build_is_not_that_of_tasks(images: Images) -> None:
    build = EnvironmentBuild(verb=BuildVerb.CREATE, environment="users/ann/x", requirements=("idna",))
    task = (await images.platform.tasks.builds.begin(ANN, build)).task
    images.cluster.jobs.script(task.id, Behaviour())
    await images.step()
    await images.platform.runs.images.take(RunId(f"{task.id}.1"), 0, "x86_64", "2.17")
    assert await images.pin(await images.send(environment="vision")) == MINE
