"""The loop of notifications: from a change to its channels, by time, and only while it leads."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from hai_scheduler.core.notifying.values import RULED, NotificationKind, NotificationRules
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.service.notifying.notifier import KEEP, MOST_BY_TIME, Notifier
from kit.builders import a_rank, a_run, a_spec, a_task
from kit.memory.behaviour import Behaviour
from unit.service.notifying.outbox_kit import FakeMessenger, told
from unit.service.service_world import Service, user


class Told:
    """A service whose users have rules for mail, with a messenger that remembers."""

    def __init__(self, service: Service) -> None:
        self.service, self.mail = service, FakeMessenger()
        self.notifier: Notifier = service.loop.notifier
        sending = self.notifier.sending
        sending.world = replace(sending.world, messengers={"mail": self.mail})

    async def rule(self, name: str, **fields: object) -> None:
        known = {"channels": {kind: frozenset({"mail"}) for kind in RULED}, "mail": f"{name}@example.org"}
        async with self.service.store.write() as tx:
            await tx.notifications.put_rules(NotificationRules(user=name, **{**known, **fields}))  # type: ignore[arg-type]

    async def look(self, seconds: float = 0) -> list[str]:
        """Let time pass and look until nothing is left; returns the subjects of all mail so far."""
        await self.service.clock.advance(seconds)
        while await self.notifier.look():
            await self.notifier.sending.idle()
        return [message.subject for _, message in self.mail.sent]


@pytest.fixture
async def world() -> Told:
    made = Told(await Service(nodes=1).open())
    await made.rule("ann")
    return made


async def test_from_a_change_to_its_channel(world: Told) -> None:
    task = await world.service.submit("train", "ann", does=Behaviour(work=timedelta(seconds=5)))
    await world.service.step(1)
    await world.service.step(10)
    assert await world.look() == [f"Task {task} (train) has started.", f"Task {task} (train) has ended well."]
    assert len(await world.look(100)) == 2


async def test_who_waits_for_long_is_told_once_over_restarts(world: Told) -> None:
    await world.rule("ann", waits_longer=timedelta(minutes=10))
    await world.service.submit("first", "bob", priority=None)
    await world.service.step(1)
    task = await world.service.submit("train", "ann", nodes=1)
    await world.service.platform.tasks.submissions.hold(user("ann"), str(task))
    assert await world.look(1200) == [], "a held task waits for its owner"
    await world.service.platform.tasks.submissions.resume(user("ann"), str(task))
    assert await world.look(300) == [], "the time in which it was held does not count"
    (said,) = await world.look(310)
    assert said == f"Task {task} (train) has waited for 10 min. `hai explain {task}` says why."
    world.service.restart()
    again = Told(world.service)
    assert await again.look(60) == []


async def test_idle_gpus_are_told_after_half_an_hour_and_an_hour(world: Told) -> None:
    now = world.service.clock.now()
    ranks = (a_rank(idle_gpus_since=now),)
    async with world.service.store.write() as tx:
        await tx.tasks.add(
            a_task(user="ann", state="running", run=a_run(ranks=ranks, started_at=now, running_at=now)), a_spec()
        )
    assert await world.look(1795) == []
    assert len(await world.look(20)) == 1
    assert len(await world.look(1770)) == 1
    assert len(await world.look(30)) == 2


async def test_a_flood_by_time_is_written_in_parts_and_each_once(world: Told) -> None:
    async with world.service.store.write() as tx:
        for number in range(MOST_BY_TIME + 7):
            await tx.tasks.add(a_task(user="ann", name=f"t{number}"), a_spec())
    await world.service.clock.advance(7200)
    assert [await world.notifier.tell_of_time() for _ in range(3)] == [MOST_BY_TIME, 7, 0]


async def test_old_notifications_are_deleted(world: Told) -> None:
    async with world.service.store.write() as tx:
        await tx.notifications.add(told(at=world.service.clock.now()))
        await tx.notifications.add(told(at=world.service.clock.now() + timedelta(days=1)))
    await world.service.clock.advance(KEEP.total_seconds() + 1)
    assert await world.notifier.sweep() == 1
    assert await world.notifier.sweep() == 0


async def test_only_a_leader_looks_and_a_fault_ends_nothing(
    world: Told, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    leads, looks = False, 0
    faults: list[Exception] = [Temporary("the database is away"), ValueError("a fault")]

    async def look(_: Notifier) -> bool:
        nonlocal looks
        looks += 1
        if faults:
            raise faults.pop(0)
        return False

    monkeypatch.setattr(Notifier, "look", look)
    running = asyncio.create_task(world.notifier.run(lambda: leads))
    try:
        for _ in range(5):
            await world.service.clock.advance(3)
        assert looks == 0
        leads = True
        for _ in range(10):
            await world.service.clock.advance(3)
        assert looks >= 3
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert "notifications wait for the database" in caplog.text
    assert "sending notifications failed" in caplog.text


async def test_a_ring_is_enough(world: Told) -> None:
    running = asyncio.create_task(world.notifier.run(lambda: True))
    try:
        await world.service.clock.advance(1)
        caller = user("ann")
        await world.service.platform.notifications.test(caller, ["lab"])
        for _ in range(4):
            await world.service.clock.advance(0.3)
        page = await world.service.platform.notifications.page(caller, before=None, limit=5, unread=False)
        ((one, deliveries),) = page.items
        assert (one.kind, [delivery.state for delivery in deliveries]) == (NotificationKind.TEST, ["sent"])
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
