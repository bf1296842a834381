"""What groups use is counted, told and forgotten; members of groups without budget count as LOW in a snapshot."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest

from hai_scheduler.adapters.system.local_bus import MemoryBus
from hai_scheduler.core.costs.budgets import GroupBudget, Measure, Standing
from hai_scheduler.core.costs.rates import Rate
from hai_scheduler.core.ledger.row import LedgerRow
from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.ports.values import HistoryEvent, UserRecord
from hai_scheduler.service.accounting.standings import BudgetCount, BudgetUse, standings_of
from hai_scheduler.service.scheduling.snapshot_reader import snapshot_of
from hai_scheduler.service.shared.topics import TICK
from kit.builders import T0
from kit.ledger import ended_rows
from kit.memory.clock import VirtualClock
from kit.memory.store import MemoryStore
from kit.worlds import make_world

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
#: 10 hours on one node with 8 GPUs are 80 GPU hours.
LIMIT = GroupBudget(group="cv", measure=Measure.GPU_HOURS, limit=Decimal(100), window_days=7)


class Accounts:
    """A store with a budget, and its count."""

    def __init__(self) -> None:
        self.clock = VirtualClock(T0 + DAY)
        self.store, self.bus = MemoryStore(), MemoryBus(self.clock)
        self.counting = BudgetCount(make_world(store=self.store, bus=self.bus, clock=self.clock))

    async def put(self, *things: GroupBudget | Rate | UserRecord) -> None:
        async with self.store.write() as tx:
            for thing in things:
                if isinstance(thing, GroupBudget):
                    await tx.budgets.put(thing)
                elif isinstance(thing, Rate):
                    await tx.rates.put(thing)
                else:
                    await tx.users.put(thing)

    async def ran(self, *runs: tuple[LedgerRow, ...]) -> None:
        async with self.store.write() as tx:
            await tx.ledger.put({rows[0].facts.run_id: rows for rows in runs})

    async def standing(self) -> BudgetUse | None:
        async with self.store.read() as tx:
            return (await standings_of(tx)).get("cv")

    async def told(self) -> list[HistoryEvent]:
        async with self.store.read() as tx:
            page = await tx.events.page(after=0, limit=100)
        return [event for event in page if event.kind == EventKind.BUDGET_STANDING]

    async def counted_low(self) -> frozenset[str]:
        async with self.store.read() as tx:
            return (await snapshot_of(tx, T0, (), (), (), ())).counted_low


@pytest.fixture
def accounts() -> Accounts:
    return Accounts()


def ran(number: int, hours: float, *, groups: Iterable[str] = ("cv",), **more: Any) -> tuple[LedgerRow, ...]:
    return ended_rows(number, hours=hours, groups=groups, **more)


async def test_a_group_comes_near_its_budget_over_it_and_back(accounts: Accounts) -> None:
    await accounts.put(LIMIT, UserRecord(name="ann", groups=frozenset({"cv"})), UserRecord(name="bob"))
    assert await accounts.counting.count() == 0
    assert await accounts.standing() == BudgetUse(Decimal("0.00"), Standing.GOOD)
    await accounts.ran(ran(1, 10))
    assert await accounts.counting.count() == 1
    assert await accounts.standing() == BudgetUse(Decimal("80.00"), Standing.NEAR)
    assert await accounts.counted_low() == frozenset()
    await accounts.ran(ran(2, 2.5, user="bob"))
    assert await accounts.counting.count() == 1
    assert await accounts.counted_low() == {"ann"}
    assert await accounts.counting.count() == 0
    await accounts.clock.advance(8 * 86_400)
    assert await accounts.counting.count() == 1
    assert await accounts.standing() == BudgetUse(Decimal("0.00"), Standing.GOOD)
    assert await accounts.counted_low() == frozenset()
    assert [(event.data["standing"], event.data["used"]) for event in await accounts.told()] == [
        ("near", "80.00"),
        ("over", "100.00"),
        ("good", "0.00"),
    ]


async def test_a_tick_is_asked_for_when_a_group_stands_otherwise(accounts: Accounts) -> None:
    async with accounts.bus.listen(TICK) as rings:
        await accounts.put(replace(LIMIT, limit=Decimal(1)))
        await accounts.ran(ran(1, 1))
        await accounts.counting.count()
        assert await rings.wait(0)


async def test_runs_count_for_the_groups_as_they_were(accounts: Accounts) -> None:
    await accounts.put(LIMIT)
    await accounts.ran(ran(1, 4, groups=("cv", "all")), ran(2, 8, groups=("nlp",)), ran(3, 8, groups=()))
    await accounts.counting.count()
    assert await accounts.standing() == BudgetUse(Decimal("32.00"), Standing.GOOD)


async def test_a_budget_in_money_counts_what_its_currency_asks(accounts: Accounts) -> None:
    rate = Rate(
        node_group=None, priority=None, valid_from=date(2026, 1, 5), per_node_hour=Decimal("2.25"), currency="EUR"
    )
    other = replace(rate, node_group="elsewhere", currency="USD")
    await accounts.put(replace(LIMIT, measure=Measure.AMOUNT, currency="EUR", limit=Decimal(10)), rate, other)
    await accounts.ran(ran(1, 4))
    await accounts.counting.count()
    assert await accounts.standing() == BudgetUse(Decimal("9.00"), Standing.NEAR)


async def test_node_hours_are_counted_too(accounts: Accounts) -> None:
    await accounts.put(replace(LIMIT, measure=Measure.NODE_HOURS, limit=Decimal(4)))
    await accounts.ran(ran(1, 4))
    await accounts.counting.count()
    assert await accounts.standing() == BudgetUse(Decimal("4.00"), Standing.OVER)


async def test_without_its_budget_a_group_is_forgotten(accounts: Accounts) -> None:
    await accounts.put(replace(LIMIT, limit=Decimal(1)), UserRecord(name="ann", groups=frozenset({"cv"})))
    await accounts.ran(ran(1, 4))
    await accounts.counting.count()
    assert await accounts.counted_low() == {"ann"}
    async with accounts.store.write() as tx:
        await tx.budgets.delete("cv")
    assert await accounts.counting.count() == 0
    assert (await accounts.standing(), await accounts.counted_low()) == (None, frozenset())


async def test_what_is_shown_is_not_full_before_it_is_over(accounts: Accounts) -> None:
    await accounts.put(replace(LIMIT, limit=Decimal(8)))
    await accounts.ran(ran(1, 0.9999999))
    await accounts.counting.count()
    assert await accounts.standing() == BudgetUse(Decimal("7.99"), Standing.NEAR)
