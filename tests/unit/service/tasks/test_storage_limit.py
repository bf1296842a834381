"""How much each user may store, and what is done with more than that."""

from __future__ import annotations

import pytest

from hai_scheduler.ports.stored.storage import UserStorage
from hai_scheduler.service.shared.errors import Conflict, TooMany
from hai_scheduler.service.shared.settings import ServiceSettings
from kit.memory.stored.storage import MemoryAmounts
from unit.service.service_world import user
from unit.service.storage_kit import KIB, MIB, a_service, ended, flood, large, submissions


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


@pytest.mark.parametrize(("size", "most"), [(MIB - KIB, 20), (10, 100)])
async def test_who_submits_faster_than_ended_tasks_are_forgotten_is_told_to_wait(size: int, most: int) -> None:
    service = await a_service(bytes_per_user=10 * MIB, ended_per_user=50)
    with pytest.raises(TooMany, match="submit again in a minute") as caught:
        await flood(service, size, 1000)
    assert caught.value.retry_after == 60
    assert most <= await ended(service) <= most + 1
    await service.submit("bobs", "bob")
    await service.loop.housekeeping.sweep_users()
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


def test_the_defaults_let_an_ordinary_user_keep_everything() -> None:
    settings = ServiceSettings()
    # A task of a kilobyte every three minutes, for the thirty days that ended tasks are kept.
    assert settings.ended_per_user >= 30 * 24 * 20
    assert settings.bytes_per_user >= settings.ended_per_user * KIB
