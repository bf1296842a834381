"""Two platforms that share a namespace of Kubernetes, though they should not, and both have a run `1.1`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from hai_scheduler.core.lifecycle.transitions import Finalize, Kill
from hai_scheduler.core.model.ids import Origin, RunId, TaskId
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Blame, Run
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.service.shared.errors import NotFound
from kit.builders import a_launch
from kit.memory.behaviour import Behaviour
from unit.service.service_world import ADMIN, Service, user

LONG = Behaviour(work=timedelta(hours=9))


@pytest.fixture
async def world() -> Service:
    return await Service(nodes=2).open()


async def test_a_task_whose_runs_id_another_has_starts_with_the_next_number(world: Service) -> None:
    await meet(world, TaskId(1), late=True)
    task = await world.submit("t", "alice", does=LONG)
    assert task == 1, "their ids meet"
    await world.step(0)
    await world.step(120)
    assert await world.states(task) == ["running"]
    first, second = await runs(world, task)
    assert (first.number, first.reason, second.number) == (1, Reason.START_FAILED, 2)
    assert "hai admin orphans list" in str(first.ranks[0].message)
    assert first.ranks[0].unstarted is Blame.NOBODY
    is_theirs(world)


async def test_a_number_that_another_is_seen_to_have_is_left_out(world: Service) -> None:
    await meet(world, TaskId(1))
    task = await world.submit("t", "bob", does=LONG)
    await world.step(1)
    assert await world.states(task) == ["running"]
    assert [run.number for run in await runs(world, task)] == [2]


async def test_who_stops_a_task_whose_runs_id_another_has_stops_nothing_of_the_other(world: Service) -> None:
    await meet(world, TaskId(1), late=True)
    task = await world.submit("t", "bob", does=LONG)
    await world.step(0, ticks=1)
    assert await world.states(task) == ["starting"]
    await world.platform.tasks.submissions.stop(user("bob"), str(task))
    await world.step(60, ticks=3)
    assert await world.states(task) == ["stopped"]
    is_theirs(world)


async def test_by_an_id_that_another_has_nothing_is_done_before_an_admin_says_so(world: Service) -> None:
    await meet(world, TaskId(1))
    effects = [Kill(RunId("1.1")), Finalize(RunId("1.1"))]
    await world.loop.cycle.effects.carry_out(effects, nodes={})
    is_theirs(world)
    await world.platform.orphans.end(ADMIN, "1.1")
    await world.step(1)
    assert RunId("1.1") in world.cluster.record.kills


async def test_what_is_ours_to_forget_is_not_theirs(world: Service) -> None:
    await meet(world, TaskId(1), late=True)
    task = await world.submit("t", "bob", does=LONG)
    await world.step(0, ticks=1)
    await world.platform.tasks.submissions.stop(user("bob"), str(task))
    await world.step(60, ticks=3)
    world.cluster.jobs.finish(RunId("1.1"))
    world.cluster._runs.remember = timedelta(days=999)  # as a cluster whose records of ended runs stay
    await world.step(timedelta(days=400).total_seconds())
    await world.loop.housekeeping.sweep()
    with pytest.raises(NotFound):
        await world.platform.insight.queries.task(user("bob"), str(task))
    assert RunId("1.1") in world.cluster.record.runs


async def meet(world: Service, task_id: TaskId, *, late: bool = False) -> None:
    """Another platform runs `<task_id>.1`. `late`: this is not known yet when the task of that id is started."""
    world.cluster.exclusive = False
    world.cluster.notices = None  # its supervisors ask another service
    world.cluster.jobs.script(task_id, LONG)
    theirs = a_launch(task_id, nodes=(max(world.cluster._nodes),), origin=Origin("somebodyelse", 1))
    if not late:
        await world.cluster.launch(theirs)
        await world.step(0, ticks=1)
        return
    launch = world.cluster.launch

    async def first(order: LaunchOrder) -> None:
        world.cluster.launch = launch  # type: ignore[method-assign]
        await launch(theirs)
        await launch(order)

    world.cluster.launch = first  # type: ignore[method-assign]


async def runs(world: Service, task: TaskId) -> Sequence[Run]:
    async with world.store.read() as tx:
        return await tx.runs.of_task(task)


def is_theirs(world: Service) -> None:
    """Check that the other platform's run was not touched."""
    theirs = world.cluster.record.runs[RunId("1.1")]
    assert theirs.launch.origin == Origin("somebodyelse", 1)
    assert not theirs.gone(world.clock.now())
    assert RunId("1.1") not in [
        *world.cluster.record.kills,
        *world.cluster.record.finalized,
        *world.cluster.record.aside,
    ]
