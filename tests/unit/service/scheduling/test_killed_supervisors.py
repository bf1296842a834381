"""Runs that break because their supervisor is killed on a node that is well (H4): back-off, and the end of patience."""

from __future__ import annotations

from datetime import timedelta

from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import Task, TaskState
from kit.builders import at
from unit.service.service_world import SHORT, Service, user


async def kill_supervisor(service: Service, task: int, rank: int = 0) -> Task:
    """Kill the supervisor of a rank of the task's latest run, step, and return the task."""
    run = (await service.task(task)).live_run
    assert run is not None
    service.cluster.faults.lose_rank(run.id, rank, node_well=True)
    await service.step()
    return await service.task(task)


async def test_h4_a_task_that_kills_its_supervisor_waits_longer_each_time_and_fails() -> None:
    service = await Service().open()
    task = await service.submit("mad", "mallory")
    await service.step()
    for number, wait in ((1, 15), (2, 30)):
        broken = await kill_supervisor(service, task)
        assert (broken.state, broken.reason) == (TaskState.SUSPENDED, Reason.SUPERVISOR_KILLED)
        assert (broken.failed_starts, broken.run.number) == (number, number)
        await service.step(wait - 1)
        assert (await service.task(task)).state is TaskState.SUSPENDED, "it waits for its back-off"
        verdict = (await service.platform.insight.queries.summary(user("mallory"), str(task))).verdict
        assert verdict.data["starts"] == number
        assert "was killed" in verdict.data["broken"]
        await service.step(1)
        assert (await service.task(task)).state is TaskState.RUNNING
    over = await kill_supervisor(service, task)
    assert (over.state, over.reason, over.failed_starts) == (TaskState.FAILED, Reason.SUPERVISOR_KILLED, 3)
    assert over.avoid == frozenset()
    async with service.store.read() as tx:
        assert list(await tx.nodes.strikes()) == []


async def test_h4_the_number_is_the_policys() -> None:
    service = await Service(policy=SHORT.__class__(max_failed_starts=1)).open()
    task = await service.submit("mad", "mallory", 2)
    await service.step()
    over = await kill_supervisor(service, task, rank=1)
    assert (over.state, over.failed_starts) == (TaskState.FAILED, 1)


async def test_h4_one_killed_supervisor_an_hour_is_no_storm() -> None:
    service = await Service().open()
    task = await service.submit("long", "ann")
    for _ in range(5):
        await service.step(60)
        await service.step(3600)
        broken = await kill_supervisor(service, task)
        assert (broken.state, broken.failed_starts) == (TaskState.SUSPENDED, 1)


async def test_h4_a_run_that_leaves_well_in_between_begins_a_new_row() -> None:
    service = await Service().open()
    task = await service.submit("mad", "mallory")
    await service.step()
    await kill_supervisor(service, task)
    await service.step(15)
    await service.platform.tasks.submissions.suspend(user("mallory"), str(task))
    await service.step(1)
    left = await service.task(task)
    assert (left.state, left.failed_starts) == (TaskState.SUSPENDED, 0)


async def test_a_lost_node_and_killed_supervisors_are_told_apart() -> None:
    service = await Service().open()
    task = await service.submit("ann", "ann")
    await service.step()
    await kill_supervisor(service, task)
    await service.step(15)
    run = (await service.task(task)).live_run
    assert run is not None
    assert run.started_at >= at(15)
    service.cluster.faults.lose_node(run.nodes[0])
    await service.step(1)
    moved = await service.task(task)
    assert moved.state is TaskState.RUNNING, "a lost node costs no wait"
    assert moved.avoid == {run.nodes[0]}
    assert moved.failed_starts == 0
    assert moved.starting_took == timedelta(0)
