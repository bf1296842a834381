"""What ranks tell of their images; what it is for is in workspace/test_image_machines.py."""

from __future__ import annotations

import pytest

from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.workspace.abi import FoundMachine, PlatformImage
from hai_scheduler.service.shared.errors import Conflict, Invalid
from unit.service.service_world import Service


@pytest.fixture
async def service() -> Service:
    """Task 1 runs in the platform's image."""
    made = await Service(platform_image=PlatformImage(image="hai-task:1")).open()
    await made.submit("t", "ann")
    await made.step(1)
    return made


async def tell(service: Service, machine: str, glibc: str, *, run: str = "1.1", rank: int = 0) -> FoundMachine | None:
    await service.platform.runs.images.take(RunId(run), rank, machine, glibc)
    async with service.store.read() as tx:
        return await tx.found_machines.of("hai-task:1")


@pytest.mark.parametrize(
    ("machine", "glibc", "named"), [("", "2.31", "machine"), ("x86 64", "2.31", "machine"), ("x86_64", "new", "glibc")]
)
async def test_a_word_that_cannot_be_one_is_refused(service: Service, machine: str, glibc: str, named: str) -> None:
    with pytest.raises(Invalid, match=f"^{named}: cannot be one"):
        await tell(service, machine, glibc)


async def test_only_ranks_of_live_runs_are_heard(service: Service) -> None:
    with pytest.raises(Invalid, match="rank"):
        await tell(service, "x86_64", "2.31", rank=7)
    with pytest.raises(Conflict):
        await tell(service, "x86_64", "2.31", run="99.1")


async def test_it_is_kept_with_the_task_and_the_same_again_is_no_news(service: Service) -> None:
    first = await tell(service, "x86_64", "2.31")
    assert first is not None
    assert (first.machine, first.glibc, first.task) == ("x86_64", "2.31", TaskId(1))
    await service.clock.advance(60)
    assert await tell(service, "x86_64", "2.31") == first
    now = await tell(service, "x86_64", "")
    assert now is not None
    assert (now.glibc, now.at) == ("", service.clock.now()), "another C library"


async def test_where_ranks_run_in_no_image_nothing_is_kept() -> None:
    made = await Service().open()
    await made.submit("t", "ann")
    await made.step(1)
    assert await tell(made, "x86_64", "2.31") is None
