"""Rates, budgets and capacity in a transaction of the memory store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from hai_scheduler.core.costs.budgets import GroupBudget
from hai_scheduler.core.costs.capacity import NodeTime
from hai_scheduler.core.costs.rates import Rate
from kit.memory.draft import MemoryPart


class MemoryRates(MemoryPart):
    """See `ports.stored.costs.StoredRates`."""

    async def all(self) -> Sequence[Rate]:
        """See `StoredRates.all`."""
        rates = self._draft.seen().rates
        return [rates[key] for key in sorted(rates)]

    async def put(self, rate: Rate) -> None:
        """See `StoredRates.put`."""
        state = self._draft.writable()
        self._draft.state = replace(state, rates={**state.rates, rate.key: rate})

    async def delete(self, rate: Rate) -> bool:
        """See `StoredRates.delete`."""
        state = self._draft.writable()
        self._draft.state = replace(state, rates={k: one for k, one in state.rates.items() if k != rate.key})
        return rate.key in state.rates


class MemoryBudgets(MemoryPart):
    """See `ports.stored.costs.StoredBudgets`."""

    async def all(self) -> Sequence[GroupBudget]:
        """See `StoredBudgets.all`."""
        budgets = self._draft.seen().budgets
        return [budgets[group] for group in sorted(budgets)]

    async def put(self, budget: GroupBudget) -> None:
        """See `StoredBudgets.put`."""
        state = self._draft.writable()
        self._draft.state = replace(state, budgets={**state.budgets, budget.group: budget})

    async def delete(self, group: str) -> bool:
        """See `StoredBudgets.delete`."""
        state = self._draft.writable()
        self._draft.state = replace(state, budgets={k: one for k, one in state.budgets.items() if k != group})
        return group in state.budgets


class MemoryCapacity(MemoryPart):
    """See `ports.stored.costs.StoredCapacity`."""

    async def last(self) -> datetime | None:
        """See `StoredCapacity.last`."""
        return max((part.until for part in self._draft.seen().capacity.values()), default=None)

    async def first(self) -> datetime | None:
        """See `StoredCapacity.first`."""
        return min((part.hour for part in self._draft.seen().capacity.values()), default=None)

    async def add(self, part: NodeTime) -> None:
        """See `StoredCapacity.add`."""
        state = self._draft.writable()
        key = (part.hour, part.node_group)
        whole = part.plus(state.capacity.get(key))
        self._draft.state = replace(state, capacity={**state.capacity, key: whole})

    async def between(self, since: datetime, until: datetime) -> Sequence[NodeTime]:
        """See `StoredCapacity.between`."""
        found = self._draft.seen().capacity
        return [found[key] for key in sorted(found) if since <= key[0] < until]
