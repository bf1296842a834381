"""Random events in any order: no node has two runs, no task is lost, and in the end every task has ended."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import Task
from hai_scheduler.service.shared.errors import HaiError
from kit.ledger import check_ledger
from kit.memory.behaviour import Behaviour
from unit.service.service_world import ADMIN, Service

NODES = ("node-1", "node-2", "node-3")
USERS = ("ann", "bob")

behaviours = st.builds(
    Behaviour,
    work=st.sampled_from([timedelta(seconds=s) for s in (5, 60, 200)]),
    exit_code=st.sampled_from([0, 0, 0, 3]),
    saves_in=st.sampled_from([timedelta(0), timedelta(seconds=5), None]),
    start_takes=st.sampled_from([timedelta(0), timedelta(seconds=2)]),
    dies_in=st.sampled_from([timedelta(0), timedelta(seconds=10)]),
)
actions = st.one_of(
    st.tuples(
        st.just("submit"), st.sampled_from(USERS), st.integers(1, 3), st.sampled_from([None, *Priority]), behaviours
    ),
    st.tuples(st.sampled_from(["stop", "suspend", "hold", "resume"]), st.integers(1, 6)),
    st.tuples(st.just("priority"), st.integers(1, 6), st.sampled_from([None, *Priority])),
    st.tuples(st.just("time"), st.sampled_from([0.5, 3, 25, 65])),
    st.tuples(st.just("die")),
    st.tuples(st.sampled_from(["lose", "mend", "drain", "uncordon"]), st.sampled_from(NODES)),
    st.tuples(st.sampled_from(["pause", "unpause"])),
    st.tuples(st.just("half launch")),
)


async def check(service: Service) -> None:
    """Check that the store is consistent, and that the cluster never gave a node to two runs."""
    async with service.store.read() as tx:
        tasks = tuple(await tx.tasks.unfinished())
    Snapshot(now=service.clock.now(), nodes=tuple(await service.cluster.nodes()), tasks=tasks).check()
    service.cluster.record.check()


async def act(service: Service, action: tuple[object, ...]) -> None:  # noqa: C901  # a table of what may happen
    use, admin = service.platform.tasks.submissions, service.platform.administration
    match action:
        case ("submit", str(who), int(nodes), level, Behaviour() as does):
            await service.submit("task", who, nodes, does, priority=level)
        case (("stop" | "suspend" | "hold" | "resume") as verb, int(number)):
            await getattr(use, str(verb))(ADMIN, str(number))
        case ("priority", int(number), level):
            await use.set_priority(ADMIN, str(number), level)  # type: ignore[arg-type]
        case ("time", float(seconds) | int(seconds)):
            await service.step(seconds, ticks=1)
        case ("die",):
            service.restart()
        case ("lose", str(node)):
            service.cluster.faults.lose_node(node)
        case ("mend", str(node)):
            service.cluster.faults.put_node(
                replace(next(n for n in await service.cluster.nodes() if n.name == node), ready=True)
            )
        case (("drain" | "uncordon") as verb, str(node)):
            await admin.mark_node(ADMIN, node, NodeMark.DRAINING if verb == "drain" else NodeMark.NONE)
        case ("pause",):
            await admin.pause(ADMIN)
        case ("unpause",):
            await admin.unpause(ADMIN)
        case ("half launch",):
            service.cluster.faults.break_launch(after=1)
        case _:
            raise AssertionError(action)


async def story(wanted: list[tuple[object, ...]]) -> list[Task]:
    service = await Service(nodes=len(NODES)).open()
    submitted = 0
    for action in wanted:
        try:
            await act(service, action)
            submitted += action[0] == "submit"
        except HaiError:
            pass  # a refusal is a valid answer
        await check(service)
    # Now all faults are repaired, and the service runs on.
    await service.step(6)
    await service.platform.administration.unpause(ADMIN)
    for node in await service.cluster.nodes():
        service.cluster.faults.put_node(replace(node, ready=True))
        await service.platform.administration.mark_node(ADMIN, node.name, NodeMark.NONE)
    for number in range(1, submitted + 1):
        task = await service.task(TaskId(number))
        if not task.state.ended and task.held:
            await service.platform.tasks.submissions.resume(ADMIN, str(number))
    for _ in range(400):
        await service.step(10, ticks=2)
        async with service.store.read() as tx:
            if not await tx.tasks.unfinished():
                break
    await check(service)
    await check_ledger(service.store)
    assert service.cluster.record.holders() == {}
    return [await service.task(TaskId(number)) for number in range(1, submitted + 1)]


@given(st.lists(actions, min_size=3, max_size=25))
@settings(max_examples=60, deadline=None)
def test_no_story_loses_a_task_or_gives_a_node_twice(wanted: list[tuple[object, ...]]) -> None:
    tasks = asyncio.run(story(wanted))
    for task in tasks:
        runs = task.run.number if task.run else 0
        unlucky = len(task.avoid) >= 3 - task.nodes + 1
        assert task.state.ended or unlucky, f"task {task.id} is {task.state.value} after {runs} runs"
