"""Node time is counted once, whichever replica leads."""

from __future__ import annotations

from datetime import timedelta

from hai_scheduler.service.accounting.capacity import CapacityNotes
from hai_scheduler.service.shared.latest_plan import LatestPlan
from kit.builders import T0, a_node
from kit.memory.clock import VirtualClock
from kit.memory.store import MemoryStore
from kit.worlds import make_world

HOUR = timedelta(hours=1)


async def counted(store: MemoryStore) -> float:
    """All node time, seconds."""
    async with store.read() as tx:
        return sum(part.node_us for part in await tx.capacity.between(T0 - 9 * HOUR, T0 + 99 * HOUR)) / 1e6


async def test_each_time_is_counted_once_over_a_change_of_leader() -> None:
    clock, store = VirtualClock(T0), MemoryStore()
    nodes = [a_node(f"n{number}") for number in range(3)]
    first, second = (LatestPlan(leading=leads, nodes=nodes) for leads in (True, False))
    notes = [CapacityNotes(make_world(store=store, clock=clock, latest_plan=plan)) for plan in (first, second)]
    for _ in range(5):
        for each in notes:
            await each.note()
        await clock.advance(60)
    first.leading, second.leading = False, True
    await clock.advance(60)
    for each in notes:
        await each.note()
    assert await counted(store) == 3 * 6 * 60


async def test_without_nodes_nothing_is_noted() -> None:
    store = MemoryStore()
    await CapacityNotes(make_world(store=store, clock=VirtualClock(T0), latest_plan=LatestPlan(leading=True))).note()
    async with store.read() as tx:
        assert await tx.capacity.last() is None
