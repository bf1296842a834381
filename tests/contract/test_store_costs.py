"""Rates, budgets and capacity in every store."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

from hai_scheduler.core.costs.budgets import GroupBudget, Measure
from hai_scheduler.core.costs.capacity import NodeTime
from hai_scheduler.core.costs.rates import Rate
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.store.store import Store
from kit.builders import T0

HOUR = timedelta(hours=1)
RATE = Rate(
    node_group="a100",
    priority=Priority.LOW,
    valid_from=date(2026, 11, 1),
    per_node_hour=Decimal("0.000001"),
    per_gpu_hour=Decimal(1000000),
    currency="€",
)


async def test_rates_come_back_exactly_in_order_and_are_replaced_by_their_key(store: Store) -> None:
    everywhere = replace(RATE, node_group=None, priority=None)
    later = replace(RATE, valid_from=date(2026, 12, 1))
    async with store.write() as tx:
        for rate in (later, RATE, everywhere):
            await tx.rates.put(rate)
    async with store.read() as tx:
        assert await tx.rates.all() == [everywhere, RATE, later]
    cheaper = replace(RATE, per_gpu_hour=Decimal("0.10"), currency="EUR")
    async with store.write() as tx:
        await tx.rates.put(cheaper)
        assert await tx.rates.delete(later)
        assert not await tx.rates.delete(later)
    async with store.read() as tx:
        assert await tx.rates.all() == [everywhere, cheaper]


async def test_a_group_has_one_budget(store: Store) -> None:
    hours = GroupBudget(group="cv", measure=Measure.GPU_HOURS, limit=Decimal("500.5"), window_days=30)
    money = GroupBudget(group="cv", measure=Measure.AMOUNT, limit=Decimal(7), window_days=7, currency="EUR")
    other = replace(hours, group="Ärzte")
    async with store.write() as tx:
        for budget in (other, hours, money):
            await tx.budgets.put(budget)
    async with store.read() as tx:
        assert await tx.budgets.all() == [money, other]
    async with store.write() as tx:
        assert await tx.budgets.delete("cv")
        assert not await tx.budgets.delete("cv")
    async with store.read() as tx:
        assert await tx.budgets.all() == [other]


async def test_node_time_is_added_up_by_hour_and_group(store: Store) -> None:
    part = NodeTime(
        hour=T0, node_group="a", node_us=10**15, gpu_us=8 * 10**15, down_us=1, until=T0 + timedelta(microseconds=7)
    )
    async with store.read() as tx:
        assert (await tx.capacity.first(), await tx.capacity.last()) == (None, None)
    more = replace(part, until=T0 + timedelta(minutes=2))
    async with store.write() as tx:
        for one in (more, part, replace(part, node_group="b"), replace(part, hour=T0 + HOUR, until=T0 + HOUR)):
            await tx.capacity.add(one)
    async with store.read() as tx:
        found = await tx.capacity.between(T0, T0 + HOUR)
        assert found == [more.plus(part), replace(part, node_group="b")]
        assert found[0].node_us == 2 * 10**15
        assert [one.hour for one in await tx.capacity.between(T0 + HOUR, T0 + 2 * HOUR)] == [T0 + HOUR]
        assert (await tx.capacity.first(), await tx.capacity.last()) == (T0, T0 + HOUR)
