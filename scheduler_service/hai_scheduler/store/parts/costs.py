"""Rates, budgets and the capacity of nodes in a transaction on a database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Row, and_, delete, func, select

from hai_scheduler.core.costs.budgets import GroupBudget
from hai_scheduler.core.costs.capacity import NodeTime
from hai_scheduler.core.costs.rates import Rate
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.store.codec import of_instant, to_instant
from hai_scheduler.store.ledger_tables import BUDGETS, CAPACITY, RATES
from hai_scheduler.store.rows import BUDGET, NODE_TIME, RATE
from hai_scheduler.store.statements import Statements


class SqlRates:
    """See `ports.stored.costs.StoredRates`. Amounts are texts: no database rounds them."""

    def __init__(self, statements: Statements) -> None:
        self._sql = statements

    async def all(self) -> Sequence[Rate]:
        """See `StoredRates.all`."""
        return sorted((_rate_of(row) for row in await self._sql.ask(select(RATES))), key=lambda rate: rate.key)

    async def put(self, rate: Rate) -> None:
        """See `StoredRates.put`."""
        await self._sql.put(RATES, RATE.values(rate, **_key(rate)))

    async def delete(self, rate: Rate) -> bool:
        """See `StoredRates.delete`."""
        row = and_(*(RATES.c[name] == value for name, value in _key(rate).items()))
        return (await self._sql.change(delete(RATES).where(row))).rowcount > 0


class SqlBudgets:
    """See `ports.stored.costs.StoredBudgets`."""

    def __init__(self, statements: Statements) -> None:
        self._sql = statements

    async def all(self) -> Sequence[GroupBudget]:
        """See `StoredBudgets.all`."""
        return sorted((BUDGET.of(row) for row in await self._sql.ask(select(BUDGETS))), key=lambda one: one.group)

    async def put(self, budget: GroupBudget) -> None:
        """See `StoredBudgets.put`."""
        await self._sql.put(BUDGETS, BUDGET.values(budget))

    async def delete(self, group: str) -> bool:
        """See `StoredBudgets.delete`."""
        return (await self._sql.change(delete(BUDGETS).where(BUDGETS.c.user_group == group))).rowcount > 0


class SqlCapacity:
    """See `ports.stored.costs.StoredCapacity`."""

    def __init__(self, statements: Statements) -> None:
        self._sql = statements

    async def last(self) -> datetime | None:
        """See `StoredCapacity.last`."""
        # The newest hour is found by the primary key, which begins with it.
        newest = select(func.max(CAPACITY.c.hour)).scalar_subquery()
        found = (await self._sql.ask(select(func.max(CAPACITY.c.until)).where(CAPACITY.c.hour == newest))).scalar()
        return None if found is None else of_instant(found)

    async def first(self) -> datetime | None:
        """See `StoredCapacity.first`."""
        found = (await self._sql.ask(select(func.min(CAPACITY.c.hour)))).scalar()
        return None if found is None else of_instant(found)

    async def add(self, part: NodeTime) -> None:
        """See `StoredCapacity.add`."""
        row = and_(CAPACITY.c.hour == to_instant(part.hour), CAPACITY.c.node_group == part.node_group)
        found = (await self._sql.ask(select(CAPACITY).where(row))).first()
        whole = part.plus(None if found is None else NODE_TIME.of(found))
        await self._sql.put(CAPACITY, NODE_TIME.values(whole))

    async def between(self, since: datetime, until: datetime) -> Sequence[NodeTime]:
        """See `StoredCapacity.between`."""
        hours = select(CAPACITY).where(CAPACITY.c.hour >= to_instant(since), CAPACITY.c.hour < to_instant(until))
        found = [NODE_TIME.of(row) for row in await self._sql.ask(hours)]
        return sorted(found, key=lambda part: (part.hour, part.node_group))


def _key(rate: Rate) -> dict[str, Any]:
    node_group, priority, day = rate.key
    return {"node_group": node_group, "priority": priority, "valid_from": day.isoformat()}


def _rate_of(row: Row[Any]) -> Rate:
    priority = None if row.priority < 0 else Priority(row.priority)
    return RATE.of(row, node_group=row.node_group or None, priority=priority)
