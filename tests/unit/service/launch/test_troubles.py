"""Runs that cannot be launched for now: the reason is shown, and the cluster is not asked at every tick."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hai_scheduler.core.model.ids import RunId
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.service.launch.troubles import Troubles
from kit.builders import at
from unit.service.service_world import Service, message_in, user

RUN = RunId("1.1")


def test_the_first_failures_are_tried_again_at_once_and_later_ones_less_and_less_often() -> None:
    troubles, now, waits = Troubles(), at(), []
    for _ in range(9):
        troubles.note(RUN, "no", now)
        wait = 0
        while troubles.waits(RUN, now + timedelta(seconds=wait)) is not None:
            wait += 1
        waits.append(wait)
        now += timedelta(seconds=wait)
    assert waits == [0, 0, 2, 4, 8, 16, 30, 30, 30]
    troubles.clear(RUN)
    assert (troubles.of(RUN), troubles.waits(RUN, now)) == (None, None)


def test_runs_are_told_apart() -> None:
    troubles = Troubles()
    troubles.note(RUN, "no", at())
    assert (troubles.of(RUN), troubles.of(RunId("2.1"))) == ("no", None)


async def test_a_task_that_cannot_be_launched_says_why_until_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    service = await Service().open()
    tried = 0

    async def forbidden(_: object) -> None:
        nonlocal tried
        tried += 1
        raise Temporary("the service's account lacks a right")

    monkeypatch.setattr(service.cluster, "launch", forbidden)
    task = await service.submit("one", "ann", 2)
    await service.step()
    view = await service.platform.insight.queries.summary(user("ann"), str(task))
    assert message_in(view).endswith(": rank 0 on node-1 (1 more wait too) waits: the service's account lacks a right.")
    for _ in range(60):
        await service.step(1, ticks=1)
    assert tried < 10, "at first at each tick, then every half a minute"
    monkeypatch.undo()
    await service.step(30)
    assert await service.states(task) == ["running"]
    assert "right" not in message_in(await service.platform.insight.queries.summary(user("ann"), str(task)))


async def test_what_is_stopped_before_it_could_be_launched_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    service = await Service().open()

    async def forbidden(_: object) -> None:
        raise Temporary("no")

    monkeypatch.setattr(service.cluster, "launch", forbidden)
    task = await service.submit("one", "ann")
    await service.step()
    (run,) = [(await service.task(task)).run]
    assert run is not None
    assert service.loop.cycle.effects.troubles.of(run.id) == "no"
    await service.platform.tasks.submissions.stop(user("ann"), str(task))
    await service.step(5)
    assert await service.states(task) == ["stopped"]
    assert service.loop.cycle.effects.troubles.of(run.id) is None
