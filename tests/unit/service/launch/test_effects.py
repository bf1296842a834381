"""Effects of a committed change are carried out on the cluster: each by itself, and again if need be."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hai_scheduler.core.lifecycle.transitions import Finalize, Kill, Launch
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Blame, RankState
from hai_scheduler.core.workspace.templates import Unresolvable
from hai_scheduler.ports.errors import Absent, Temporary
from hai_scheduler.service.launch.effects import Effects
from hai_scheduler.service.launch.launch_orders import LaunchOrders
from hai_scheduler.service.shared.topics import TICK
from kit.builders import an_environment
from kit.memory.behaviour import Behaviour
from unit.service.launch.starting import by_name, decided
from unit.service.service_world import ADMIN, Service, user

LONG = Behaviour(work=timedelta(hours=9))


@pytest.fixture
async def service() -> Service:
    return await Service(nodes=2).open()


def effects(service: Service) -> Effects:
    return service.loop.cycle.effects


async def carry_out(service: Service, *wanted: Any) -> str | None:
    return await effects(service).carry_out(wanted, nodes=by_name(service))


async def test_a_launch_starts_the_run_once_however_often_it_is_wanted(service: Service) -> None:
    task = await service.submit("t", "ann", does=LONG)
    (launch,) = await decided(service, task)
    for _ in range(2):
        assert await carry_out(service, launch) is None
    service.cluster.record.check()
    assert [run for runs in service.cluster.record.holders().values() for run in runs] == [launch.run_id]


async def test_a_run_that_has_been_stopped_meanwhile_is_not_launched(service: Service) -> None:
    task = await service.submit("t", "ann", does=LONG)
    (launch,) = await decided(service, task)
    await service.platform.tasks.submissions.stop(user("ann"), str(task))
    assert await carry_out(service, launch) is None
    assert service.cluster.record.launches == []


@pytest.mark.parametrize(
    "wrong", [Temporary("the node is away"), OSError("the disk is full"), Absent("no such node")], ids=str
)
async def test_a_failure_keeps_no_other_effect_back_and_its_words_are_told(
    service: Service, monkeypatch: pytest.MonkeyPatch, wrong: Exception
) -> None:
    tasks = [await service.submit(f"t{n}", "ann", does=LONG) for n in (1, 2)]
    first, second = await decided(service, *tasks)
    real = service.cluster.launch

    async def half(order: Any) -> None:
        if order.run_id == first.run_id:
            raise wrong
        await real(order)

    monkeypatch.setattr(service.cluster, "launch", half)
    assert await carry_out(service, first, second) == str(wrong)
    assert service.cluster.record.launches == [second.run_id]
    assert effects(service).troubles.of(first.run_id) == str(wrong)
    monkeypatch.setattr(service.cluster, "launch", real)
    assert await carry_out(service, first) is None
    assert effects(service).troubles.of(first.run_id) is None


async def test_a_launch_that_keeps_failing_waits_without_asking_the_cluster(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = await service.submit("t", "ann", does=LONG)
    (launch,) = await decided(service, task)
    asked = []

    async def refuse(order: Any) -> None:
        asked.append(order)
        raise Temporary("no")

    monkeypatch.setattr(service.cluster, "launch", refuse)
    assert [await carry_out(service, launch) for _ in range(6)] == ["no"] * 6
    assert len(asked) == 3
    assert await carry_out(service, Kill(launch.run_id)) is None
    assert effects(service).troubles.of(launch.run_id) is None, "a run that is to end has no trouble starting"


async def test_a_run_is_killed_and_finalized(service: Service) -> None:
    task = await service.submit("t", "ann", does=LONG)
    await service.step(1)
    run = RunId(f"{task}.1")
    await carry_out(service, Kill(run))
    assert service.cluster.record.kills == [run]
    await carry_out(service, Finalize(run))
    assert service.cluster.record.finalized == [run]


# -- what cannot be started by anybody's fault but the task's ---------------------------------------------------


async def without_its_environment(service: Service, nodes: int = 1) -> tuple[TaskId, Launch]:
    """A task that is to start and whose environment has just been deleted."""
    await service.platform.workspace.images.put(ADMIN, an_environment())
    task = await service.submit("t", "ann", nodes, does=LONG, environment="torch")
    (launch,) = await decided(service, task)
    await service.platform.workspace.images.delete(ADMIN, "torch")
    return task, launch


async def test_a_run_whose_environment_is_gone_fails_to_start_and_no_node_is_to_blame(service: Service) -> None:
    task, launch = await without_its_environment(service)
    async with service.bus.listen(TICK) as ears:
        assert await carry_out(service, launch) is None
        assert await ears.wait(0), "the next tick uses its nodes for others"
    after = await service.task(task)
    assert (after.state.value, after.failed_starts, after.reason) == ("suspended", 1, Reason.START_FAILED)
    assert after.run is not None
    assert "torch" in str(after.run.ranks[0].message)
    assert after.run.ranks[0].unstarted is not Blame.NODE
    assert service.cluster.record.launches == []
    async with service.store.read() as tx:
        assert list(await tx.nodes.strikes()) == []


async def test_after_as_many_failed_starts_as_the_policy_allows_the_task_fails(service: Service) -> None:
    task, launch = await without_its_environment(service)
    most = service.settings.policy.default.max_failed_starts
    async with service.store.write() as tx:
        before = await tx.tasks.get(task)
        await tx.tasks.save(replace(before, failed_starts=most - 1))
    await carry_out(service, launch)
    assert await service.states(task) == ["failed"]


async def test_a_run_that_has_been_stopped_meanwhile_has_not_failed_to_start(service: Service) -> None:
    task, launch = await without_its_environment(service)
    await service.platform.tasks.submissions.stop(user("ann"), str(task))
    before = await service.task(task)
    await carry_out(service, launch)
    assert await service.task(task) == before


async def test_a_run_that_is_told_to_leave_while_its_order_is_made_has_not_failed_to_start(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = await service.submit("t", "ann", does=LONG)
    (launch,) = await decided(service, task)

    async def too_late(*_: object) -> None:
        await service.platform.tasks.submissions.stop(user("ann"), str(task))
        raise Unresolvable("the environment is gone")

    monkeypatch.setattr(LaunchOrders, "order", too_late)
    assert await carry_out(service, launch) is None
    after = await service.task(task)
    assert (after.state.value, after.failed_starts) == ("stopping", 0)


async def test_b4_a_run_of_which_a_rank_is_up_leaves_before_its_nodes_are_free(service: Service) -> None:
    task, launch = await without_its_environment(service, nodes=2)
    async with service.store.write() as tx:
        before = await tx.tasks.get(task)
        assert before.run is not None
        up = replace(before.run.ranks[0], state=RankState.RUNNING)
        await tx.tasks.save(replace(before, run=replace(before.run, ranks=(up, before.run.ranks[1]))))
    assert await carry_out(service, launch) is None
    after = await service.task(task)
    assert after.state.value == "suspending"
    assert after.run is not None
    assert after.run.notice is not None
    assert (after.run.notice.reason, after.run.notice.deadline) == (Reason.START_FAILED, service.clock.now())
