"""Launches are a queue beside the ticks: urgent ones first, a few at a time, none twice and none lost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hai_scheduler.core.lifecycle.transitions import Finalize, Kill
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.service.launch.launching import ENDS_AT_ONCE
from kit.memory.behaviour import Behaviour
from unit.service.service_world import Service, message_in, user

#: Seconds of a launch.
SLOW = 4.0
LONG = Behaviour(work=timedelta(hours=9))
#: The default of `ServiceSettings.starts_at_once`.
AT_ONCE = 16


class Slow:
    """A cluster whose launches take long; notes when each has begun, and how many are under way."""

    def __init__(self, service: Service, monkeypatch: pytest.MonkeyPatch, seconds: float = SLOW) -> None:
        self.begun: list[RunId] = []
        self.now = self.most = 0
        self.seconds = seconds
        self._service, self._launch = service, service.cluster.launch
        monkeypatch.setattr(service.cluster, "launch", self.launch)

    async def launch(self, order: LaunchOrder) -> None:
        self.begun.append(order.run_id)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await self._service.clock.sleep(self.seconds)
            await self._launch(order)
        finally:
            self.now -= 1


_OPEN: list[Service] = []


@pytest.fixture(autouse=True)
async def _closed() -> AsyncIterator[None]:
    """End launches that are still under way at the end of a test."""
    yield
    while _OPEN:
        await _OPEN.pop().loop.cycle.launching.abandon()


async def a_service(nodes: int) -> Service:
    service = await Service(nodes=nodes).open()
    _OPEN.append(service)
    return service


async def pass_seconds(service: Service, seconds: int) -> None:
    """Run the loop in virtual time: a tick a second, which does not wait for launches."""
    for _ in range(seconds):
        await service.loop.cycle.decide()
        await service.clock.advance(1)


def first_run(task: TaskId) -> RunId:
    return RunId(f"{task}.1")


async def test_an_urgent_task_is_launched_among_the_first_after_1500_others(monkeypatch: pytest.MonkeyPatch) -> None:
    service = await a_service(1510)
    slow = Slow(service, monkeypatch)
    for number in range(1500):
        await service.submit(f"t{number}", "ann", does=LONG)
    began = service.clock.now()
    await service.loop.cycle.decide()
    assert service.clock.now() == began, "the tick waits for no launch"
    await service.clock.advance(SLOW / 2)
    assert len(slow.begun) == AT_ONCE
    urgent = await service.submit("urgent", "bob", does=LONG, priority=Priority.EXTREME_HIGH)
    await service.loop.cycle.decide()
    await service.clock.settle()
    assert slow.begun[AT_ONCE:] == [first_run(urgent)], "it waits for nothing that is less urgent"
    await service.clock.advance(SLOW)
    await service.loop.cycle.decide()
    assert await service.states(urgent) == ["running"]
    assert slow.most == AT_ONCE + 1
    # The next ticks add no launch that waits already.
    slow.seconds = 0.04
    await pass_seconds(service, 9)
    assert slow.now == 0
    assert sorted(slow.begun) == sorted(first_run(TaskId(n + 1)) for n in range(1501))
    service.cluster.record.check()


async def test_launches_go_by_priority_and_equals_in_the_order_of_their_decision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    service = await a_service(60)
    slow = Slow(service, monkeypatch)
    levels = [Priority.NORMAL, Priority.LOW, Priority.HIGH]
    tasks = [await service.submit(f"t{n}", "ann", does=LONG, priority=levels[n % 3]) for n in range(60)]
    await pass_seconds(service, 20)
    begun = [int(run_id.partition(".")[0]) for run_id in slow.begun]
    by_level = [[task for n, task in enumerate(tasks) if levels[n % 3] is level] for level in (levels[2], *levels[:2])]
    assert begun == [int(task) for level in by_level for task in level]


async def test_as_many_ranks_as_there_is_room_for_and_a_large_run_is_not_passed_by(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    service = await a_service(200)
    slow = Slow(service, monkeypatch)
    await service.submit("first", "ann", 3, does=LONG)
    await service.submit("large", "ann", 100, does=LONG)
    small = await service.submit("small", "ann", does=LONG)
    await service.loop.cycle.decide()
    await service.clock.settle()
    assert slow.begun == ["1.1", "2.1"], "the large one has begun, and there is no room beside it"
    await service.clock.advance(SLOW)
    assert slow.begun[2:] == [first_run(small)]


async def test_a_run_that_waits_says_for_what_and_is_not_told_to_leave_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    service = await a_service(60)
    Slow(service, monkeypatch, seconds=1000)
    for number in range(59):
        await service.submit(f"t{number}", "ann", does=LONG)
    last = await service.submit("last", "ann", does=LONG, priority=Priority.LOW)
    await pass_seconds(service, 3)
    view = await service.platform.insight.queries.summary(user("ann"), str(last))
    said = message_in(view)
    assert said.endswith("on node-9 waits: 59 other runs were to be launched before it."), said
    versions = [(await service.task(TaskId(n + 1))).version for n in range(60)]
    await pass_seconds(service, 900)
    task = await service.task(last)
    assert (task.state.value, task.failed_starts, task.run and task.run.id) == ("starting", 0, first_run(last))
    assert [(await service.task(TaskId(n + 1))).version for n in range(60)] == versions, "what waits writes nothing"


async def test_what_is_stopped_while_it_waits_is_never_launched(monkeypatch: pytest.MonkeyPatch) -> None:
    service = await a_service(60)
    slow = Slow(service, monkeypatch)
    tasks = [await service.submit(f"t{number}", "ann", does=LONG) for number in range(60)]
    await service.loop.cycle.decide()
    await service.platform.tasks.submissions.stop(user("ann"), str(tasks[-1]))
    kept = await service.submit("kept", "ann", does=LONG)
    await pass_seconds(service, 40)
    assert first_run(tasks[-1]) not in slow.begun
    assert await service.states(tasks[-1], kept) == ["stopped", "running"]


async def test_a_kill_does_not_wait_behind_launches_and_ends_what_comes_late(monkeypatch: pytest.MonkeyPatch) -> None:
    service = await a_service(60)
    slow = Slow(service, monkeypatch, seconds=50)
    tasks = [await service.submit(f"t{number}", "ann", does=LONG) for number in range(60)]
    await service.loop.cycle.decide()
    await service.clock.advance(1)
    assert first_run(tasks[0]) in slow.begun, "its launch is under way"
    await service.platform.tasks.submissions.stop(user("ann"), str(tasks[0]))
    await pass_seconds(service, 130)
    assert first_run(tasks[0]) in service.cluster.record.kills
    assert await service.states(tasks[0]) == ["stopped"]
    assert first_run(tasks[0]) not in {run for runs in service.cluster.record.holders().values() for run in runs}
    service.cluster.record.check()


async def test_one_that_fails_keeps_no_other_from_its_turn_and_says_what_hinders(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    service = await a_service(3)
    launch, errors = service.cluster.launch, [ValueError("a bug"), Temporary("no room for the pod")]

    async def broken(order: LaunchOrder) -> None:
        if order.run_id == "1.1" and errors:
            raise errors.pop()
        await launch(order)

    monkeypatch.setattr(service.cluster, "launch", broken)
    first = await service.submit("first", "ann", does=LONG)
    second = await service.submit("second", "ann", does=LONG)
    await service.step(ticks=1)
    assert service.loop.cycle.latest_plan.trouble == "no room for the pod"
    await service.step(ticks=1)
    assert service.loop.cycle.latest_plan.trouble == "ValueError"
    assert await service.states(first, second) == ["starting", "running"]
    await service.step()
    assert service.loop.cycle.latest_plan.trouble is None
    assert await service.states(first, second) == ["running", "running"]


async def test_the_trouble_of_a_run_that_is_wanted_no_more_is_no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    service = await a_service(3)

    async def refused(_: LaunchOrder) -> None:
        raise Temporary("no room for the pod")

    monkeypatch.setattr(service.cluster, "launch", refused)
    task = await service.submit("t", "ann", does=LONG)
    await service.step()
    assert service.loop.cycle.latest_plan.trouble == "no room for the pod"
    await service.platform.tasks.submissions.stop(user("ann"), str(task))
    await service.step()
    assert (await service.states(task), service.loop.cycle.latest_plan.trouble) == (["stopped"], None)


async def test_a_service_that_dies_in_the_middle_loses_and_doubles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    service = await a_service(60)
    slow = Slow(service, monkeypatch)
    tasks = [await service.submit(f"t{number}", "ann", does=LONG) for number in range(60)]
    await service.loop.cycle.decide()
    await service.clock.advance(SLOW * 1.5)
    await service.loop.cycle.launching.abandon()
    service.restart()
    assert 0 < len(service.cluster.record.holders()) < 60
    await pass_seconds(service, 40)
    assert set(await service.states(*tasks)) == {"running"}
    assert len(service.cluster.record.launches) == len(set(service.cluster.record.launches)) == 60
    assert {(await service.task(task)).run.number for task in tasks} == {1}  # type: ignore[union-attr]
    assert len(slow.begun) == 60 + AT_ONCE, "only those that were under way were begun again"
    service.cluster.record.check()


async def test_who_has_lost_the_lease_begins_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    service = await a_service(60)
    slow = Slow(service, monkeypatch)
    for number in range(60):
        await service.submit(f"t{number}", "ann", does=LONG)
    old = service.loop.cycle
    await old.decide()
    await service.clock.advance(6)  # the replica is paused, and its lease runs out
    begun = len(slow.begun)
    service.restart()
    await service.clock.advance(60)
    assert len(slow.begun) == begun
    assert await service.loop.cycle.decide()
    assert not await old.decide()
    await pass_seconds(service, 40)
    assert len(service.cluster.record.holders()) == 60
    service.cluster.record.check()


async def test_a_loop_that_is_stopped_finishes_what_it_can_in_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    service = await a_service(60)
    slow = Slow(service, monkeypatch, seconds=1.0)
    for number in range(60):
        await service.submit(f"t{number}", "ann", does=LONG)
    await service.loop.cycle.decide()
    began = service.clock.now()
    await service.clock.run(service.loop.cycle.launching.finish(2.5))
    assert service.clock.now() - began == timedelta(seconds=2.5)
    assert len(service.cluster.record.holders()) == 2 * AT_ONCE
    await service.clock.advance(100)
    assert len(slow.begun) == 3 * AT_ONCE, "nothing begins after that"
    # With an empty queue, this takes no time.
    began = service.clock.now()
    await service.clock.run(service.loop.cycle.launching.finish(2.5))
    assert service.clock.now() == began


async def test_an_end_that_is_under_way_is_not_ordered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    service = await a_service(1)
    kills: list[RunId] = []

    async def kill(run_id: RunId) -> None:
        kills.append(run_id)
        await service.clock.sleep(10)

    monkeypatch.setattr(service.cluster, "kill", kill)
    launching = service.loop.cycle.launching
    for _ in range(3):
        launching.hand_over([Kill(RunId("7.1"))], {}, {}, since=launching.mark())
        await service.clock.settle()
    assert kills == ["7.1"], "one order is under way"
    await service.clock.run(launching.idle())


async def test_a_run_is_settled_after_an_order_to_end_it_and_never_ended_after_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A cluster would take a late order for one about a run that it does not know, and record that."""
    service = await a_service(1)
    did: list[str] = []

    def slowly(word: str) -> Any:
        async def act(run_id: RunId) -> None:
            did.append(f"{word} {run_id} begins")
            await service.clock.sleep(1)
            did.append(f"{word} {run_id} ends")

        return act

    monkeypatch.setattr(service.cluster, "kill", slowly("kill"))
    monkeypatch.setattr(service.cluster, "finalize", slowly("settle"))
    launching = service.loop.cycle.launching

    def hand_over(*effects: Kill | Finalize) -> None:
        launching.hand_over(effects, {}, {}, since=launching.mark())

    one, other = RunId("7.1"), RunId("8.1")
    hand_over(Kill(one))
    await service.clock.settle()
    hand_over(Finalize(one), Finalize(other))
    await service.clock.advance(0.5)
    assert did == ["kill 7.1 begins", "settle 8.1 begins"], "the other run is not waited for"
    await service.clock.run(launching.idle())
    assert [line for line in did if " 7.1 " in line] == [
        *("kill 7.1 begins", "kill 7.1 ends"),
        *("settle 7.1 begins", "settle 7.1 ends"),
    ]
    # An order that has not begun is dropped: the run has ended since.
    did.clear()
    hand_over(*(Kill(RunId(f"{number}.1")) for number in range(100, 100 + ENDS_AT_ONCE)), Kill(one))
    await service.clock.settle()
    hand_over(Finalize(one))
    await service.clock.run(launching.idle())
    assert [line for line in did if " 7.1 " in line] == ["settle 7.1 begins", "settle 7.1 ends"]


async def test_many_that_are_to_be_ended_are_ended_before_more_are_launched(monkeypatch: pytest.MonkeyPatch) -> None:
    service = await a_service(60)
    Slow(service, monkeypatch)
    for number in range(60):
        await service.submit(f"t{number}", "ann", does=LONG)
    await service.loop.cycle.decide()
    await service.clock.advance(1)
    ends: list[Any] = [Kill(RunId(f"{number}.1")) for number in range(100, 300)]
    launching = service.loop.cycle.launching
    launching.hand_over(ends, {}, {}, since=launching.mark())
    await service.clock.settle()
    assert len(service.cluster.record.kills) == 200


async def test_the_settings_say_how_many_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service(nodes=4)
    service.settings = replace(service.settings, starts_at_once=3)
    service.restart()
    _OPEN.append(await service.open())
    slow = Slow(service, monkeypatch)
    for number in range(4):
        await service.submit(f"t{number}", "ann", does=LONG)
    await pass_seconds(service, 1)
    assert slow.now == 3
