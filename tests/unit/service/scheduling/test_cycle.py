"""The loop in virtual time: whole stories, and ticks that die in the middle of one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from hai_scheduler.core.lifecycle.transitions import Kill
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.leaving import Left
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.core.model.verdicts import VerdictKind
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.sentences.catalogue import ENGLISH
from hai_scheduler.sentences.messages import message_of
from hai_scheduler.service.launch.launching import ENDS_AT_ONCE, Launching
from hai_scheduler.service.shared.topics import run_topic
from kit.builders import at
from kit.memory.behaviour import Behaviour
from unit.service.service_world import ADMIN, SHORT, Service, user

MINUTES = timedelta(minutes=1)


async def test_a_task_is_started_runs_and_succeeds() -> None:
    service = await Service().open()
    task = await service.submit("one", "ann", 2, Behaviour(work=MINUTES))
    await service.step()
    assert await service.states(task) == ["running"]
    await service.step(60)
    done = await service.task(task)
    assert (done.state, done.reason, done.served) == (TaskState.SUCCEEDED, Reason.SUCCEEDED, MINUTES)


async def test_an_urgent_task_interrupts_one_which_saves_and_is_resumed() -> None:
    service = await Service().open()
    saver = Behaviour(work=5 * MINUTES, saves_in=timedelta(seconds=5))
    first = await service.submit("first", "ann", 2, saver)
    second = await service.submit("second", "bob", 2, saver)
    await service.step()
    await service.step(40)
    urgent = await service.submit("urgent", "cy", 2, Behaviour(work=MINUTES), priority=Priority.VERY_HIGH)
    await service.step()
    assert sorted(await service.states(first, second)) == ["running", "suspending"]
    assert service.loop.cycle.latest_plan.verdicts[urgent].kind is VerdictKind.DRAINING
    await service.step(5)
    assert await service.states(urgent) == ["running"]
    await service.step(60)
    assert await service.states(first, second, urgent) == ["running", "running", "succeeded"]
    for _ in range(60):
        await service.step(5)
    tasks = [await service.task(first), await service.task(second)]
    assert [task.state for task in tasks] == [TaskState.SUCCEEDED] * 2
    assert sorted(task.run.number for task in tasks if task.run) == [1, 2]
    assert max(task.served for task in tasks) <= timedelta(seconds=306), "nothing was lost but the saving"


async def test_a_notice_is_rung_by_its_tick_though_the_cluster_answers_no_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A notice behind orders that hang would lose that time of its grace."""
    service = await Service(nodes=1).open()
    victim = await service.submit("victim", "ann")
    await service.step()
    await service.step(30)
    asked: list[RunId] = []

    async def hangs(run_id: RunId) -> None:
        asked.append(run_id)
        await service.clock.sleep(3600)

    monkeypatch.setattr(service.cluster, "kill", hangs)
    launching = service.loop.cycle.launching
    kills = [Kill(RunId(f"{number}.1")) for number in range(100, 100 + 2 * ENDS_AT_ONCE)]
    launching.hand_over(kills, {}, {}, since=launching.mark())
    await service.clock.settle()
    assert len(asked) == ENDS_AT_ONCE
    await service.submit("urgent", "bob", priority=Priority.HIGH)
    async with service.bus.listen(run_topic(RunId(f"{victim}.1"))) as ears:
        assert await service.loop.cycle.decide()
        assert await ears.wait(0)
    await launching.abandon()


async def test_a_job_that_ignores_the_notice_leaves_dirty_at_the_deadline() -> None:
    service = await Service(nodes=1).open()
    deaf = await service.submit("deaf", "ann", does=Behaviour(saves_in=None, dies_in=timedelta(seconds=10)))
    await service.step()
    await service.step(30)
    await service.submit("urgent", "bob", priority=Priority.HIGH)
    await service.step()
    await service.step(19)
    assert await service.states(deaf) == ["suspending"]
    await service.step(1)
    await service.step(10)
    task = await service.task(deaf)
    assert task.run is not None
    assert (task.state, task.run.left, task.run.lost) == (TaskState.SUSPENDED, Left.ENDED, timedelta(seconds=60))


async def test_three_equals_on_one_node_take_turns() -> None:
    service = await Service(nodes=1, policy=replace(SHORT, slice_growth=1)).open()
    tasks = [await service.submit(name, name) for name in ("ann", "bob", "cy")]
    order = []
    for _ in range(7):
        await service.step(30)
        states = await service.states(*tasks)
        order.append("".join(name[0] for name, state in zip("abc", states, strict=True) if state == "running"))
        await service.step(31)
    assert "".join(order) == "abcabca"


class Died(Exception):
    """The death of the process by a kill."""


@pytest.mark.parametrize("dies", ["before the launch", "in the middle of the launch", "after the launch"])
async def test_a_tick_that_dies_loses_no_rank_and_doubles_none(dies: str, monkeypatch: pytest.MonkeyPatch) -> None:
    service = await Service().open()
    launch = service.cluster.launch

    async def broken(order: object) -> None:
        if dies == "in the middle of the launch":
            service.cluster.faults.break_launch(after=1)
            with pytest.raises(Temporary):
                await launch(order)
        if dies == "after the launch":
            await launch(order)
        raise Died

    task = await service.submit("gang", "ann", 3, Behaviour(work=MINUTES))
    monkeypatch.setattr(service.cluster, "launch", broken)
    await service.loop.cycle.tick()
    monkeypatch.undo()
    service.restart()
    await service.step(6)  # the lease of the dead loop runs out
    assert await service.states(task) == ["running"]
    run = (await service.task(task)).run
    assert run is not None
    assert run.number == 1
    assert len(service.cluster.record.holders()) == 3
    await service.step(60)
    assert await service.states(task) == ["succeeded"]


async def test_a_tick_that_dies_before_the_commit_has_done_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    service = await Service().open()
    task = await service.submit("gang", "ann", 2)

    async def broken(*_: object) -> None:
        raise Died

    monkeypatch.setattr(type(service.loop.cycle), "_write_targets", broken)
    with pytest.raises(Died):
        await service.loop.cycle.tick()
    monkeypatch.undo()
    assert await service.states(task) == ["queued"]
    assert service.cluster.record.launches == []
    await service.step()
    assert await service.states(task) == ["running"]


async def test_only_the_holder_of_the_lease_schedules() -> None:
    service = await Service().open()
    leader = service.loop.cycle
    service.restart()
    assert await service.loop.cycle.tick() is False
    assert await leader.tick() is True
    await service.clock.advance(6)
    assert await service.loop.cycle.tick() is True, "its lease has run out"


async def test_a_stop_between_the_decision_and_the_launch_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    service = await Service().open()
    task = await service.submit("gang", "ann", 2)

    def nothing(*_: object, **__: object) -> None:
        """Do nothing, as in a slow process that has not carried out its effects yet."""

    with monkeypatch.context() as patch:
        patch.setattr(Launching, "hand_over", nothing)
        await service.loop.cycle.tick()
        await service.platform.tasks.submissions.stop(user("ann"), str(task))
    await service.step()
    assert await service.states(task) == ["stopped"]
    assert service.cluster.record.launches == []


async def test_a_run_that_belongs_to_no_task_is_ended() -> None:
    service = await Service().open()
    task = await service.submit("gang", "ann")
    await service.step()
    async with service.store.write() as tx:
        lost = await tx.tasks.get(task)
        run = lost.run
        assert run is not None

        ended = replace(run, ended_at=service.clock.now(), reason=Reason.NODE_LOST)
        await tx.tasks.save(replace(lost, state=TaskState.STOPPED, run=ended, ended_at=service.clock.now()))
    await service.step()
    assert service.cluster.record.holders() == {}


async def test_a_lost_node_costs_the_task_its_run_but_not_its_place() -> None:
    service = await Service(nodes=3).open()
    task = await service.submit("gang", "ann", 2)
    await service.step()
    service.cluster.faults.lose_node("node-1")
    await service.step(1)
    again = await service.task(task)
    assert again.run is not None
    assert again.run.nodes == ("node-2", "node-3")
    assert (again.submitted_at, again.suspensions) == (at(), 0)


async def test_starts_that_fail_are_tried_elsewhere_and_given_up() -> None:
    service = await Service().open()
    task = await service.submit("broken", "ann", does=Behaviour(start_error="no disk"))
    for seconds in (0, 14):
        await service.step(seconds)
        again = await service.task(task)
        assert (again.state, again.failed_starts) == (TaskState.SUSPENDED, 1), "it waits for its back-off"
    await service.step(1)
    assert (await service.task(task)).failed_starts == 2
    await service.step(30)
    over = await service.task(task)
    assert (over.state, over.reason, over.failed_starts) == (TaskState.FAILED, Reason.START_FAILED, 3)
    assert over.avoid == {"node-1", "node-2", "node-3"}


async def test_a_start_that_never_was_whole_does_not_end_a_row_of_failed_ones() -> None:
    service = await Service(nodes=6).open()
    task = await service.submit("gang", "ann", 2)
    launch = service.cluster.launch

    async def breaks(order: LaunchOrder) -> None:
        await launch(order)
        service.cluster.faults.break_start(order.run_id, 1, "no disk")

    service.cluster.launch = breaks  # type: ignore[method-assign]
    for _ in range(20):
        await service.step(10)
    over = await service.task(task)
    assert (over.state, over.reason, over.failed_starts) == (TaskState.FAILED, Reason.START_FAILED, 3)
    assert over.run is not None
    assert over.run.failed_ranks == ()


async def test_draining_a_node_moves_its_task() -> None:
    service = await Service(nodes=2).open()
    task = await service.submit("one", "ann")
    await service.step()
    await service.platform.administration.mark_node(ADMIN, "node-1", NodeMark.DRAINING)
    await service.step()
    await service.step(1)
    moved = await service.task(task)
    assert moved.run is not None
    assert (moved.state, moved.run.nodes) == (TaskState.RUNNING, ("node-2",))


async def test_a_pause_empties_the_nodes_and_resuming_fills_them() -> None:
    service = await Service().open()
    tasks = [await service.submit(name, name) for name in ("ann", "bob")]
    await service.step()
    await service.platform.administration.pause(ADMIN, grace=timedelta(seconds=5))
    await service.step()
    await service.step(5)
    assert await service.states(*tasks) == ["suspended", "suspended"]
    await service.platform.administration.unpause(ADMIN)
    await service.step()
    assert await service.states(*tasks) == ["running", "running"]


async def test_a_cluster_that_cannot_be_reached_is_said_and_survived() -> None:
    service = await Service().open()
    service.cluster.faults.down = True
    with pytest.raises(Temporary):
        await service.loop.cycle.tick()
    service.cluster.faults.down = False
    task = await service.submit("one", "ann")
    await service.step()
    assert await service.states(task) == ["running"]


async def test_hold_suspend_and_resume() -> None:
    service = await Service().open()
    use = service.platform.tasks.submissions
    task = await service.submit("one", "ann")
    await service.step()
    await use.hold(user("ann"), "one")
    await service.step()
    assert await service.states(task) == ["running"], "a hold lets a run go on"
    await use.suspend(user("ann"), "one")
    await service.step()
    await service.step(1)
    assert await service.states(task) == ["suspended"]
    await use.resume(user("ann"), "one")
    await service.step()
    assert await service.states(task) == ["running"]


async def test_old_tasks_are_forgotten_with_their_logs() -> None:
    service = await Service().open()
    task = await service.submit("old", "ann", does=Behaviour(work=MINUTES))
    await service.step()
    await service.step(60)
    assert await service.loop.housekeeping.sweep() == 0
    await service.clock.advance(31 * 86_400)
    assert await service.loop.housekeeping.sweep() == 1
    with pytest.raises(LookupError):
        await service.task(task)
    with pytest.raises(LookupError):
        await service.cluster.read_log("1.1", 0, offset=0, limit=1)


# -- clocks that are set, and machines that sleep -----------------------------------------------------


async def test_an_hour_that_the_clock_is_put_forward_is_neither_served_nor_strikes_a_time_limit() -> None:
    service = await Service(nodes=2).open()
    limited = await service.submit("limited", "ann", time_limit=timedelta(minutes=10))
    deaf = await service.submit("deaf", "bob", does=Behaviour(saves_in=None))
    await service.step()
    await service.step(60)
    await service.platform.tasks.submissions.suspend(ADMIN, str(deaf))
    await service.step(1)
    service.clock.put_forward(3600)
    await service.step(1)
    assert await service.states(limited, deaf) == ["running", "suspending"], "neither limit nor deadline has come"
    view = service.platform.insight.queries.view(await service.task(limited))
    assert timedelta(seconds=60) <= view.served <= timedelta(seconds=65)
    await service.step(30)
    assert await service.states(limited, deaf) == ["running", "suspended"], "the deadline came after all of its time"
    service.cluster.jobs.finish(RunId(f"{limited}.1"))
    await service.step(1)
    done = await service.task(limited)
    assert done.state is TaskState.SUCCEEDED
    assert timedelta(seconds=90) <= done.served <= timedelta(seconds=100)


async def test_a_jump_that_was_found_by_a_tick_that_failed_is_found_by_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    service = await Service(nodes=1).open()
    task = await service.submit("limited", "ann", time_limit=timedelta(minutes=10))
    await service.step()
    await service.step(60)
    service.clock.put_forward(3600)

    def broken(*_: object, **__: object) -> None:
        raise Temporary("the database went away")

    with monkeypatch.context() as patch:
        patch.setattr("hai_scheduler.service.scheduling.planner.plan", broken)
        with pytest.raises(Temporary):
            await service.loop.cycle.tick()
    await service.step(1)
    assert await service.states(task) == ["running"]


@pytest.mark.parametrize(("seconds", "counts"), [(4.9, True), (5.1, False)])
async def test_a_clock_that_is_put_right_by_little_is_left_alone(seconds: float, counts: bool) -> None:
    service = await Service(nodes=1).open()
    task = await service.submit("one", "ann")
    await service.step()
    began = (await service.task(task)).run
    service.clock.put_forward(seconds)
    await service.step(1)
    now = (await service.task(task)).run
    assert began is not None
    assert now is not None
    assert (now.running_at == began.running_at) == counts


# -- why a start takes long ---------------------------------------------------------------------------


async def test_a_task_that_starts_says_why_it_is_not_up() -> None:
    service = await Service(nodes=1).open()
    task = await service.submit("one", "ann")

    async def full(_: LaunchOrder) -> None:
        raise Temporary(f"run {task}.1 cannot be started: No space left on device")

    launch = service.cluster.launch
    service.cluster.launch = full  # type: ignore[method-assign]
    await service.step()
    await service.step(1)
    view = service.platform.insight.queries.view(await service.task(task))
    assert view.task.state is TaskState.STARTING
    why = f"Starting on node-1: rank 0 on node-1 waits: run {task}.1 cannot be started: No space left on device."
    assert message_of(ENGLISH, view.task, view.verdict, view.at) == why
    version = view.task.version
    await service.step(1)
    assert (await service.task(task)).version == version, "it is written once"
    service.cluster.launch = launch  # type: ignore[method-assign]
    await service.step(30)  # the longest pause between two tries
    await service.step(1)
    after = await service.task(task)
    assert after.state is TaskState.RUNNING
    assert after.run is not None
    assert after.run.ranks[0].message is None


async def test_a_watch_on_the_cluster_that_fails_is_begun_again_and_keeps_the_loop_from_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    service = await Service().open()
    watches = 0

    async def changes(_cluster: object) -> AsyncIterator[None]:
        nonlocal watches
        watches += 1
        raise OSError("unforeseen")
        yield

    monkeypatch.setattr(type(service.cluster), "changes", changes)
    cycle = service.loop.cycle
    running = asyncio.create_task(cycle.run())
    await service.clock.advance(5)
    assert watches > 1
    await cycle.stop()
    await service.clock.advance(10)
    assert running.done()
    await running
    async with service.store.read() as tx:
        assert await tx.lease.get() is None, "it was given up, so that another need not wait"
