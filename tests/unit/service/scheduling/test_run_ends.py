"""Effects of ended runs: use that counts in the order (O3), strikes and quarantine (H3), alarms (P7)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import NodeMark, Strike
from hai_scheduler.core.model.policy import Policies
from hai_scheduler.core.model.quota import Usage
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import Task
from hai_scheduler.service.shared.changes import SCHEDULER
from kit.builders import a_node, a_use, at
from kit.memory.behaviour import Behaviour
from unit.service.service_world import ADMIN, SHORT, Service, user

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
BROKEN = Behaviour(start_error="the disk is full")


async def uses(service: Service) -> list[Usage]:
    async with service.store.read() as tx:
        return list(await tx.uses.all())


async def strikes(service: Service) -> list[tuple[str, TaskId]]:
    async with service.store.read() as tx:
        return [(strike.node, strike.task_id) for strike in await tx.nodes.strikes()]


async def marks(service: Service) -> dict[str, NodeMark]:
    async with service.store.read() as tx:
        return dict(await tx.nodes.marks())


# --- use


async def test_a_run_that_ends_is_added_to_what_its_user_has_held() -> None:
    service = await Service(policy=replace(SHORT, half_life=100 * HOUR)).open()
    await service.submit("two", "ann", 2, Behaviour(work=MINUTE))
    await service.step()
    assert await uses(service) == []
    await service.step(60)
    (use,) = await uses(service)
    assert (use.user, use.group, use.at) == ("ann", "training", at(60))
    assert use.node_seconds == pytest.approx(120, rel=0.01)
    await service.submit("one", "ann", 1, Behaviour(work=MINUTE))
    await service.step()
    await service.step(60)
    (use,) = await uses(service)
    assert use.node_seconds == pytest.approx(180, rel=0.01)


async def test_use_decays_with_the_half_life_of_the_group() -> None:
    policy = replace(SHORT, half_life=MINUTE)
    service = await Service(policy=Policies(default=SHORT, groups={"training": policy})).open()
    await service.submit("a", "ann", 1, Behaviour(work=timedelta(seconds=1)))
    await service.step()
    await service.step(1)
    (first,) = await uses(service)
    await service.step(60)
    await service.submit("b", "ann", 1, Behaviour(work=timedelta(seconds=1)))
    await service.step()
    await service.step(1)
    (second,) = await uses(service)
    assert second.node_seconds == pytest.approx(first.node_seconds * 1.5, rel=0.02)


async def test_use_that_has_decayed_to_nothing_is_forgotten_a_day_after_it_last_changed() -> None:
    numbers = Policies(default=replace(SHORT, half_life=HOUR), groups={"big": replace(SHORT, half_life=24 * HOUR)})
    service = await Service(policy=numbers).open()
    rows = [
        a_use("ann", node_seconds=2.0),
        a_use("ben", node_seconds=2.0, group="big"),
        a_use("cy", node_seconds=2.0**24),
        a_use("di", node_seconds=0.0, at=at(1)),
    ]
    async with service.store.write() as tx:
        for row in rows:
            await tx.uses.put(row)
    await service.clock.advance(24 * 3600 - 1)
    assert await service.loop.housekeeping.sweep_uses() == 0
    await service.clock.advance(1)
    assert await service.loop.housekeeping.sweep_uses() == 1
    assert [use.user for use in await uses(service)] == ["ben", "cy", "di"], "they count for something or are younger"
    await service.clock.advance(1)
    assert await service.loop.housekeeping.sweep_uses() == 3
    assert await uses(service) == []


async def test_a_part_of_a_node_counts_as_a_part() -> None:
    service = await Service(policy=replace(SHORT, half_life=100 * HOUR)).open()
    await service.submit("part", "ann", 1, Behaviour(work=MINUTE), gpus=2)
    await service.step()
    await service.step(60)
    (use,) = await uses(service)
    assert use.node_seconds == pytest.approx(15, rel=0.01), "2 of 8 GPUs for a minute"


async def test_the_user_who_has_held_less_goes_first() -> None:
    service = await Service(nodes=1, policy=replace(SHORT, slice=HOUR, long_after=2 * HOUR)).open()
    await service.submit("much", "ann", 1, Behaviour(work=MINUTE))
    await service.step()
    first, second = await service.submit("ann", "ann"), await service.submit("bob", "bob")
    await service.step(60)
    assert await service.states(first, second) == ["queued", "running"]


async def test_a_tick_that_dies_adds_nothing_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    service = await Service(policy=replace(SHORT, half_life=100 * HOUR)).open()
    await service.submit("one", "ann", 1, Behaviour(work=MINUTE))
    await service.step()
    await service.clock.advance(60)

    async def broken(*_: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(type(service.loop.cycle), "_write_targets", broken)
        with pytest.raises(RuntimeError):
            await service.loop.cycle.tick()
    assert await uses(service) == []
    await service.step()
    (use,) = await uses(service)
    assert use.node_seconds == pytest.approx(60, rel=0.01)


# --- strikes and quarantine


async def test_a_lost_rank_is_a_strike_against_its_node_alone() -> None:
    service = await Service().open()
    task = await service.submit("gang", "ann", 3, Behaviour(lost_after=MINUTE, lost_rank=1))
    await service.step()
    run = (await service.task(task)).run
    assert run is not None
    await service.step(60)
    assert await strikes(service) == [(run.nodes[1], task)]


async def test_a_start_that_fails_is_a_strike_and_a_failing_command_is_not() -> None:
    service = await Service().open()
    broken = await service.submit("broken", "ann", 1, BROKEN)
    await service.submit("failing", "bob", 1, Behaviour(work=MINUTE, exit_code=1))
    await service.step()
    for _ in range(2):
        await service.step(60)
    found = await strikes(service)
    assert {task for _, task in found} == {broken}
    assert len(found) == SHORT.max_failed_starts == len({node for node, _ in found})


async def test_a_run_that_was_told_to_leave_is_no_strike() -> None:
    service = await Service().open()
    task = await service.submit("ann", "ann", does=Behaviour(saves_in=None))
    await service.step()
    await service.platform.tasks.submissions.suspend(user("ann"), str(task))
    service.cluster.faults.lose_rank((await service.task(task)).run_id(1), 0)
    await service.step(1)
    assert await service.states(task) == ["suspended"]
    assert await strikes(service) == []


async def test_strikes_are_forgotten_when_no_group_looks_at_them_any_more() -> None:
    groups = {"training": replace(SHORT, strike_window=MINUTE)}
    service = await Service(policy=Policies(default=SHORT, groups=groups)).open()
    async with service.store.write() as tx:
        await tx.nodes.add_strike(Strike(node="node-1", task_id=TaskId(1), at=at()))
    await service.step(3599)
    assert len(await strikes(service)) == 1
    await service.step(2)
    assert await strikes(service) == []


async def bad_node(service: Service) -> None:
    """Let runs of three tasks fail on node-1, which is then the only free node."""
    for name in ("a", "b", "c"):
        task = await service.submit(name, name, 1, replace(BROKEN))
        for _ in range(3):
            await service.loop.cycle.tick()
        await service.platform.tasks.submissions.stop(user(name), str(task))


async def test_a_node_on_which_runs_keep_failing_is_quarantined_and_told() -> None:
    service = await Service(nodes=2, policy=replace(SHORT, quarantine_share=0.5, max_failed_starts=9)).open()
    await service.submit("other", "zoe", 1)
    await service.step()
    await bad_node(service)
    (event,) = await service.events("node.mark")
    assert (event.actor, event.user) == (SCHEDULER, None)
    node = event.data["node"]
    assert event.data == {"node": node, "mark": "quarantined", "tasks": [2, 3, 4]}
    assert await marks(service) == {node: NodeMark.QUARANTINED}
    waiting = await service.submit("next", "ann")
    await service.step()
    assert await service.states(waiting) == ["queued"]
    views = await service.platform.insight.queries.nodes()
    assert [view.node.mark for view in views if view.node.name == node] == [NodeMark.QUARANTINED]


async def test_to_uncordon_a_node_is_to_forget_its_strikes() -> None:
    service = await Service(nodes=2, policy=replace(SHORT, quarantine_share=0.5, max_failed_starts=9)).open()
    await service.submit("other", "zoe", 1)
    await service.step()
    await bad_node(service)
    (node,) = await marks(service)
    await service.platform.administration.mark_node(ADMIN, node, NodeMark.CORDONED)
    assert len(await strikes(service)) >= 3
    await service.platform.administration.mark_node(ADMIN, node, NodeMark.NONE)
    assert [name for name, _ in await strikes(service) if name == node] == []
    task = await service.submit("next", "ann")
    await service.step()
    assert await service.states(task) == ["running"]
    assert await marks(service) == {}


async def test_gpus_of_a_group_are_those_of_its_largest_node_even_when_all_are_gone() -> None:
    service = await Service(nodes=1, policy=replace(SHORT, half_life=100 * HOUR)).open()
    service.cluster.faults.put_node(a_node("node-2", gpus=16))
    await service.step()
    await service.submit("part", "ann", 1, Behaviour(work=MINUTE), gpus=4)
    await service.step()
    await service.step(59)
    await service.clock.advance(1)
    for name in ("node-1", "node-2"):
        service.cluster.faults.remove_node(name)
    for _ in range(2):
        await service.loop.cycle.tick()
    (use,) = await uses(service)
    assert use.node_seconds == pytest.approx(15, rel=0.05)


# --- alarms


async def test_an_alarm_is_raised_once_when_a_task_rotates_as_often_as_it_may() -> None:
    policy = replace(SHORT, slice_growth=1, max_rotations=2, min_run_per_switch=0)
    service = await Service(nodes=1, policy=policy).open()
    tasks = [await service.submit(name, name) for name in ("ann", "bob")]
    for _ in range(8):
        await service.step(61)
    alarms = await service.events("task.alarm")
    assert sorted(event.task_id for event in alarms if event.task_id) == tasks
    first: Task = await service.task(tasks[0])
    event = next(event for event in alarms if event.task_id == tasks[0])
    assert (event.user, event.actor) == ("ann", SCHEDULER)
    assert "told to leave for equals 2 times within an hour" in event.data["message"]
    assert first.rotations[-1] == event.at
    assert service.loop.cycle.latest_plan.rotation_alarms == 2
    for _ in range(60 * 3):
        await service.step(61, ticks=2)
    again = [event.at for event in await service.events("task.alarm") if event.task_id == tasks[0]]
    assert all(later - earlier > HOUR for earlier, later in pairwise(again))


async def test_leaving_for_other_reasons_raises_no_alarm() -> None:
    service = await Service(nodes=1, policy=replace(SHORT, max_rotations=1)).open()
    task = await service.submit("ann", "ann")
    await service.step()
    for _ in range(3):
        await service.platform.tasks.submissions.suspend(user("ann"), str(task))
        await service.step(10)
        await service.platform.tasks.submissions.resume(user("ann"), str(task))
        await service.step(10)
    assert (await service.task(task)).suspensions == 3
    assert (await service.task(task)).reason is not Reason.TURN_OVER
    assert await service.events("task.alarm") == []


# --- pods of others


async def test_f5_a_gang_that_meets_pods_of_others_is_elsewhere_within_40_s_and_nothing_is_held_against_anybody() -> (
    None
):
    """In virtual time; the cluster says after 25 s that a rank has no room, as Kubernetes does."""
    service = await Service(nodes=3).open()
    slow = Behaviour(start_takes=timedelta(seconds=60), dies_in=timedelta(seconds=5))
    gang = await service.submit("gang", "ann", 2, slow)
    other = await service.submit("other", "ben", 3)
    await service.step()
    first = (await service.task(gang)).live_run
    assert first is not None
    await service.step(25)
    service.cluster.faults.crowd_out(first.id, 1, room=7, whose="gpu-monitoring, ns ops")
    for _ in range(40 - 25):
        await service.step(1, ticks=1)
    task = await service.task(gang)
    assert task.live_run is not None
    assert (task.live_run.number, first.nodes[1] in task.live_run.nodes) == (2, False)
    assert (task.failed_starts, task.avoid, await strikes(service)) == (0, frozenset(), [])
    verdict = service.platform.world.latest_plan.verdicts[other]
    assert (verdict.data["crowded"], verdict.data["crowd"]) == (1, "gpu-monitoring, ns ops")


async def test_f5_it_may_happen_any_number_of_times() -> None:
    service = await Service(nodes=1).open()
    task = await service.submit("again", "ann", 1, Behaviour(start_takes=HOUR))
    for _ in range(10):
        await service.step()
        run = (await service.task(task)).live_run
        assert run is not None
        service.cluster.faults.crowd_out(run.id, 0, room=8)
        await service.step()
        await service.step(6)
    found = await service.task(task)
    assert (found.failed_starts, found.state.ended, await strikes(service)) == (0, False, [])
