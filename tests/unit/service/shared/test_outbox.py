"""What users are told is written with the change that it tells of, by the rules of that moment."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hai_scheduler.core.notifying.values import RULED, Notification, NotificationKind, NotificationRules
from hai_scheduler.service.tallies.writer import TallyWriter
from kit.memory.behaviour import Behaviour
from unit.service.service_world import Service, user

ALL = {kind: frozenset({"mail"}) for kind in RULED}


@pytest.fixture
async def service() -> Service:
    return await Service(nodes=1).open()


async def rule(service: Service, name: str, rules: dict[NotificationKind, frozenset[str]]) -> None:
    async with service.store.write() as tx:
        await tx.notifications.put_rules(NotificationRules(user=name, channels=rules, mail=f"{name}@example.org"))


async def written(service: Service) -> list[Notification]:
    async with service.store.read() as tx:
        return list(await tx.notifications.unrouted(1000))


async def test_the_life_of_two_tasks_is_told_to_their_owners(service: Service) -> None:
    await rule(service, "ann", ALL)
    await rule(service, "bob", ALL)
    long = await service.submit("long", "ann", does=Behaviour(work=timedelta(seconds=200)))
    await service.step(1)
    short = await service.submit("short", "bob", does=Behaviour(work=timedelta(seconds=5), exit_code=3))
    for _ in range(40):
        await service.step(10)
    said = [(one.user, one.task_id, one.sentence) for one in await written(service)]
    assert said == [
        ("ann", long, "task.started"),
        ("ann", long, "task.interrupted"),
        ("bob", short, "task.started"),
        ("bob", short, "task.failed"),
        ("ann", long, "task.resumed"),
        ("ann", long, "task.succeeded"),
    ]


async def test_nobody_is_told_what_they_have_switched_off(service: Service) -> None:
    await rule(service, "ann", {NotificationKind.ENDED: frozenset({"mail"})})
    await service.submit("train", "ann", does=Behaviour(work=timedelta(seconds=5)))
    for _ in range(3):
        await service.step(5)
    (told,) = await written(service)
    assert (told.sentence, told.channels) == ("task.succeeded", {"mail"})


async def test_users_without_rules_are_told_by_the_default_ones_and_not_what_they_did(service: Service) -> None:
    stopped = await service.submit("stopped", "ann")
    await service.step(1)
    await service.platform.tasks.submissions.stop(user("ann"), str(stopped))
    for _ in range(3):
        await service.step(5)
    await service.submit("failing", "ann", does=Behaviour(work=timedelta(seconds=5), exit_code=1))
    for _ in range(3):
        await service.step(5)
    assert [(one.sentence, one.channels) for one in await written(service)] == [("task.failed", {"lab", "browser"})]


async def test_a_change_that_is_not_committed_tells_nobody(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    await service.submit("train", "ann", does=Behaviour(work=timedelta(seconds=5), exit_code=1))
    await service.step(1)
    await service.clock.advance(10)

    async def fail(*_args: object, **_more: object) -> None:
        raise RuntimeError("the database went away before the commit")

    with monkeypatch.context() as broken:
        broken.setattr(TallyWriter, "write", fail)
        with pytest.raises(RuntimeError, match="went away"):
            await service.loop.cycle.tick()
    assert await written(service) == []
    await service.step()
    assert [one.sentence for one in await written(service)] == ["task.failed"]
