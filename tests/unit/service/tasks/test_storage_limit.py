"""How much each user may store, and what is done with more than that."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from hai_scheduler.adapters.memory.stored.storage import MemoryAmounts
from hai_scheduler.ports.stored.storage import UserStorage
from hai_scheduler.service.shared.errors import Conflict, TooMany
from hai_scheduler.service.shared.settings import ServiceSettings
from hai_scheduler.service.tasks.submissions import Submission, Submissions
from unit.service.service_world import Service, user

KIB = 1024
MIB = 1024 * KIB


async def a_service(**limits: int) -> Service:
    service = Service()
    service.settings = replace(service.settings, **limits)
    service.restart()
    return await service.open()


def submissions(service: Service) -> Submissions:
    return service.parts.services.submissions


def large(size: int, **more: object) -> Submission:
    return Submission(name="big", command=("x",), cwd="/", env={"BIG": "x" * size}, hold=True, **more)


async def flood(service: Service, size: int, count: int, who: str = "mallory") -> None:
    """Submit `count` tasks of `size` bytes, and stop them."""
    for _ in range(count):
        task = await submissions(service).submit(user(who), large(size))
        await submissions(service).stop(user(who), str(task.id))


async def ended(service: Service, who: str = "mallory") -> int:
    async with service.store.read() as tx:
        return (await tx.storage.of_user(who)).ended_tasks


async def test_unfinished_tasks_that_take_all_the_room_refuse_another_and_say_what_to_do() -> None:
    service = await a_service(bytes_per_user=10 * MIB)
    tasks = [await submissions(service).submit(user("mallory"), large(MIB - KIB)) for _ in range(10)]
    with pytest.raises(Conflict, match=r"take 10 MiB .*10 MiB is the most \(HaiScheduler.mib_per_user\): put long"):
        await submissions(service).submit(user("mallory"), large(MIB - KIB))
    with pytest.raises(Conflict, match=r"HaiScheduler\.mib_per_user"):
        await submissions(service).rehearse(user("mallory"), large(MIB - KIB))
    await service.submit("small", "mallory")
    await submissions(service).submit(user("bob"), large(MIB - KIB))
    await submissions(service).stop(user("mallory"), str(tasks[0].id))
    await submissions(service).submit(user("mallory"), large(MIB - KIB))


async def test_what_was_submitted_before_with_the_key_is_returned_without_room() -> None:
    service = await a_service(bytes_per_user=2 * MIB)
    first = await submissions(service).submit(user("mallory"), large(MIB), key="k1")
    with pytest.raises(Conflict):
        await submissions(service).submit(user("mallory"), large(MIB), key="k2")
    assert (await submissions(service).submit(user("mallory"), large(MIB), key="k1")).id == first.id


async def test_ended_tasks_make_room_the_oldest_first_with_their_history() -> None:
    service = await a_service(bytes_per_user=10 * MIB)
    keeper = await service.submit("bobs", "bob")
    await submissions(service).stop(user("bob"), str(keeper))
    await flood(service, MIB - KIB, 15)
    newest = await service.submit("newest", "mallory")
    assert await service.parts.housekeeping.sweep_users() == 5
    assert await service.parts.housekeeping.sweep_users() == 0
    async with service.store.read() as tx:
        stored = await tx.storage.of_user("mallory")
        lines = {event.task_id for event in await tx.events.page(after=0, limit=1000)}
        left = [number for number, _ in await tx.storage.ended_of("mallory", limit=100)]
    assert stored.ended_bytes + stored.unfinished_bytes <= 10 * MIB
    assert left == list(range(keeper + 6, keeper + 16))
    assert lines == {keeper, *left, newest}


async def test_more_ended_tasks_than_are_kept_are_forgotten() -> None:
    service = await a_service(ended_per_user=50)
    await flood(service, 10, 80)
    await flood(service, 10, 20, "bob")
    assert await service.parts.housekeeping.sweep_users() == 30
    assert (await ended(service), await ended(service, "bob")) == (50, 20)


async def test_a_run_that_is_forgotten_early_loses_its_log_too() -> None:
    service = await a_service(ended_per_user=1)
    for name in ("first", "second"):
        await service.submit(name, "ann")
        await service.step()
        await submissions(service).stop(user("ann"), name)
        await service.step(30)
    assert await service.parts.housekeeping.sweep_users() == 1
    with pytest.raises(LookupError):
        await service.cluster.read_log("1.1", 0, offset=0, limit=1)
    assert await service.cluster.read_log("2.1", 0, offset=0, limit=1)


@pytest.mark.parametrize(("size", "most"), [(MIB - KIB, 20), (10, 100)])
async def test_who_submits_faster_than_ended_tasks_are_forgotten_is_told_to_wait(size: int, most: int) -> None:
    service = await a_service(bytes_per_user=10 * MIB, ended_per_user=50)
    with pytest.raises(TooMany, match="submit again in a minute") as caught:
        await flood(service, size, 1000)
    assert caught.value.retry_after == 60
    assert most <= await ended(service) <= most + 1
    await service.submit("bobs", "bob")
    await service.parts.housekeeping.sweep_users()
    await service.submit("again", "mallory")


async def test_measuring_is_seldom_where_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    service = await a_service()
    measured: list[str] = []
    of_user = MemoryAmounts.of_user

    async def counted(amounts: MemoryAmounts, name: str) -> UserStorage:
        measured.append(name)
        return await of_user(amounts, name)

    monkeypatch.setattr(MemoryAmounts, "of_user", counted)
    for number in range(200):
        await service.submit(f"t{number}", "ann")
    assert len(measured) == 1
    await service.clock.advance(61)
    await service.submit("later", "ann")
    assert len(measured) == 2


async def test_the_loop_forgets_what_is_too_much_each_minute_and_what_is_old_each_hour() -> None:
    service = await a_service(ended_per_user=10, lines_per_task=100)
    sweeping = asyncio.create_task(service.parts.housekeeping.run())
    await service.clock.settle()
    await flood(service, 10, 15)
    task = await service.submit("moody", "ann", hold=True)
    for _ in range(80):
        await submissions(service).resume(user("ann"), str(task))
        await submissions(service).hold(user("ann"), str(task))
    await service.clock.advance(60)
    assert await ended(service) == 10
    await service.clock.advance(3600)
    async with service.store.read() as tx:
        lines = await tx.events.page(after=0, limit=1000, task_id=task)
    assert (len(lines), lines[0].kind) == (100, "task.submitted")
    sweeping.cancel()


def test_the_defaults_let_an_ordinary_user_keep_everything() -> None:
    settings = ServiceSettings()
    # A task of a kilobyte every three minutes, for the thirty days that ended tasks are kept.
    assert settings.ended_per_user >= 30 * 24 * 20
    assert settings.bytes_per_user >= settings.ended_per_user * KIB
