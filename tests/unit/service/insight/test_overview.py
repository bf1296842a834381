"""The cluster now and over the last day: the hours of the ledger, and what live runs add to them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hai_scheduler.core.ledger.periods import Period, begin_of
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.service.insight.overview import FRESH_S, HOURS, Overview
from kit.memory.behaviour import Behaviour
from unit.service.service_world import Service, user

MINUTE = timedelta(minutes=1)


async def running(service: Service, seconds: int) -> None:
    """Let the platform run for that long, with its housekeeping once a minute."""
    for _ in range(0, seconds, 60):
        await service.step(60)
        await service.loop.housekeeping.ledger.count_live()
        await service.loop.housekeeping.capacity.note()


async def look(service: Service) -> Overview:
    await service.clock.advance(60)
    return await service.platform.insight.overviews.look()


async def test_hours_add_up_to_what_the_nodes_did() -> None:
    service = await Service(nodes=4).open()
    await service.loop.housekeeping.capacity.note()
    await service.submit("long", "ann", nodes=2)
    await running(service, 2 * 3600)
    found = await look(service)
    hour = begin_of(Period.HOUR, service.clock.now())
    assert [each.hour for each in found.hours] == [hour + n * timedelta(hours=1) for n in range(-HOURS, 1)]
    whole = [each for each in found.hours if each.capacity is not None and each.sums.node_us]
    assert len(whole) >= 2
    for each in whole:
        assert each.sums.node_us / each.capacity.node_us == pytest.approx(0.5, abs=0.03), each.hour
        assert each.sums.useful_us == pytest.approx(each.sums.node_us, rel=0.02)
    assert (found.now.nodes, found.now.held, found.now.useful) == (4, 2.0, 2.0)
    assert found.hours[-1].until <= service.clock.now()


async def test_tasks_that_came_and_ended_are_counted() -> None:
    service = await Service(nodes=2).open()
    await service.submit("ends", "ann", does=Behaviour(work=timedelta(seconds=30)))
    await service.submit("fails", "ann", does=Behaviour(work=timedelta(seconds=30), exit_code=1))
    await service.step(1)
    await service.submit("waits", "ann", nodes=2)
    await service.step(120)
    found = await look(service)
    assert found.submitted == 3
    assert (found.ended[TaskState.SUCCEEDED], found.ended[TaskState.FAILED], found.ended[TaskState.STOPPED]) == (
        1,
        1,
        0,
    )
    await service.clock.advance(4 * 3600)
    assert (await service.platform.insight.overviews.look()).submitted == 0


async def test_what_runs_do_now_is_told_apart() -> None:
    service = await Service(nodes=3).open()
    slow = Behaviour(start_takes=timedelta(hours=1))
    await service.submit("starts", "ann", does=slow)
    told = await service.submit(
        "leaves", "ann", does=Behaviour(saves_in=timedelta(seconds=10**6)), grace=timedelta(minutes=30)
    )
    await service.submit("runs", "ann")
    await service.step(5)
    await service.platform.tasks.submissions.suspend(user("ann"), str(told))
    await service.step(1)
    now = (await service.platform.insight.overviews.look()).now
    assert (now.starting, now.leaving, now.useful, now.idle, now.held) == (1, 1, 1, 0, 3)


async def test_readers_share_an_answer_for_a_moment() -> None:
    service = await Service().open()
    overviews = service.platform.insight.overviews
    first = await overviews.look()
    await service.submit("new", "ann")
    assert await overviews.look() is first
    await service.clock.advance(FRESH_S)
    later = await overviews.look()
    assert later is not first
    assert later.seq > first.seq
