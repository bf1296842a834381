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
from hai_scheduler.store.small_tables import StoredPart


class StoredRates(StoredPart):
    """The rates; node group, priority and first day belong to one rate at most.

    Amounts are texts: no database rounds them.
    """

    async def all(self) -> Sequence[Rate]:
        """All rates, sorted by their keys."""
        return sorted((_rate_of(row) for row in await self._sql.ask(select(RATES))), key=lambda rate: rate.key)

    async def put(self, rate: Rate) -> None:
        """Write the whole rate."""
        self._sql.put(RATES, RATE.values(rate, **_key(rate)))

    async def delete(self, rate: Rate) -> bool:
        """Remove the rate with the key of this one; True if there was one."""
        row = and_(*(RATES.c[name] == value for name, value in _key(rate).items()))
        return (await self._sql.change(delete(RATES).where(row))).rowcount > 0


class StoredBudgets(StoredPart):
    """The budgets; a user group has one at most."""

    async def all(self) -> Sequence[GroupBudget]:
        """All budgets, sorted by group."""
        return sorted((BUDGET.of(row) for row in await self._sql.ask(select(BUDGETS))), key=lambda one: one.group)

    async def put(self, budget: GroupBudget) -> None:
        """Write the whole budget of that group."""
        self._sql.put(BUDGETS, BUDGET.values(budget))

    async def delete(self, group: str) -> bool:
        """Remove the budget of the group; True if there was one."""
        return (await self._sql.change(delete(BUDGETS).where(BUDGETS.c.user_group == group))).rowcount > 0


class StoredCapacity(StoredPart):
    """How much node time there was. It outlives the nodes."""

    async def last(self) -> datetime | None:
        """Up to when node time was counted; None: never."""
        # The newest hour is found by the primary key, which begins with it.
        newest = select(func.max(CAPACITY.c.hour)).scalar_subquery()
        found = (await self._sql.ask(select(func.max(CAPACITY.c.until)).where(CAPACITY.c.hour == newest))).scalar()
        return None if found is None else of_instant(found)

    async def first(self) -> datetime | None:
        """The first hour in which node time was counted; None: never."""
        found = (await self._sql.ask(select(func.min(CAPACITY.c.hour)))).scalar()
        return None if found is None else of_instant(found)

    async def add(self, part: NodeTime) -> None:
        """Add to what is stored for that group and hour."""
        row = and_(CAPACITY.c.hour == to_instant(part.hour), CAPACITY.c.node_group == part.node_group)
        found = (await self._sql.ask(select(CAPACITY).where(row))).first()
        whole = part.plus(None if found is None else NODE_TIME.of(found))
        self._sql.put(CAPACITY, NODE_TIME.values(whole))

    async def between(self, since: datetime, until: datetime) -> Sequence[NodeTime]:
        """The hours that begin at `since` or later and before `until`, sorted by hour and group."""
        hours = select(CAPACITY).where(CAPACITY.c.hour >= to_instant(since), CAPACITY.c.hour < to_instant(until))
        found = [NODE_TIME.of(row) for row in await self._sql.ask(hours)]
        return sorted(found, key=lambda part: (part.hour, part.node_group))


def _key(rate: Rate) -> dict[str, Any]:
    node_group, priority, day = rate.key
    return {"node_group": node_group, "priority": priority, "valid_from": day.isoformat()}


def _rate_of(row: Row[Any]) -> Rate:
    priority = None if row.priority < 0 else Priority(row.priority)
    return RATE.of(row, node_group=row.node_group or None, priority=priority)
