"""The plan that a process without the lease shows, when no ring has reached the process."""

from __future__ import annotations

import asyncio

import pytest

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.verdicts import VerdictKind
from hai_scheduler.ports.values import TaskFilter
from hai_scheduler.service.insight.queries import VIEW_BEARABLE, Queries, TaskView
from hai_scheduler.service.insight.task_lists import TaskLists
from kit.builders import a_node
from unit.service.scheduling.test_two_replicas import submit
from unit.service.service_world import user
from unit.service.two_replicas import Pair


async def listed(queries: Queries, task: TaskId) -> TaskView:
    lists = TaskLists(queries.world, queries)
    page = await lists.page(user("ann"), TaskFilter(), cursor=None, limit=10)
    return next(view for view in page.items if view.task.id == task)


async def shown(queries: Queries, task: TaskId) -> TaskView:
    return (await queries.task(user("ann"), str(task))).view


async def summed_up(queries: Queries, task: TaskId) -> TaskView:
    return await queries.summary(user("ann"), str(task))


@pytest.mark.parametrize("ask", [listed, shown, summed_up])
async def test_why_a_task_waits_is_told_though_no_ring_was_heard(ask) -> None:
    pair = await Pair(nodes=2).open()
    leader, follower = pair.replicas
    await submit(pair, 0, "holds", 2)
    waits = await submit(pair, 0, "waits", 2)
    await leader.loop.cycle.tick()
    await pair.clock.advance(VIEW_BEARABLE + 1)
    told = await ask(follower.platform.insight.queries, waits)
    assert told.verdict is not None
    assert told.verdict.kind is not VerdictKind.HELD
    looks = follower.loop.cycle.latest_plan.ticks
    await pair.clock.advance(VIEW_BEARABLE - 1)
    await ask(follower.platform.insight.queries, waits)
    assert follower.loop.cycle.latest_plan.ticks == looks, (
        "those who only read do not make it look more often than that"
    )


async def test_who_asks_for_the_cluster_is_told_of_it_as_it_is_now() -> None:
    pair = await Pair(nodes=1).open()
    queries = pair.replicas[1].platform.insight.queries
    await pair.clock.advance(3)
    pair.cluster.faults.put_node(a_node("late"))
    await pair.clock.advance(3)
    assert "late" in {view.node.name for view in await queries.nodes()}


async def test_a_follower_that_ends_in_a_look_has_given_back_what_it_reads_with(monkeypatch) -> None:
    pair = await Pair(nodes=1).open()
    follower = pair.replicas[1].platform.follower
    held = asyncio.Event()

    async def look() -> bool:
        held.set()
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(9):
                await asyncio.sleep(0)  # as a connection that is closed
            held.clear()
        return True

    monkeypatch.setattr(type(follower), "look", lambda _: look())
    running = asyncio.create_task(follower.run())
    await held.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert not held.is_set()
