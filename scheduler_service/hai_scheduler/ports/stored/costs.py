"""Rates, budgets and the capacity of nodes, in a transaction of the store."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from hai_scheduler.core.costs.budgets import GroupBudget
from hai_scheduler.core.costs.capacity import NodeTime
from hai_scheduler.core.costs.rates import Rate


class StoredRates(Protocol):
    """The rates; node group, priority and first day belong to one rate at most."""

    async def all(self) -> Sequence[Rate]:
        """All rates, sorted by their keys."""
        ...

    async def put(self, rate: Rate) -> None:
        """Write the whole rate."""
        ...

    async def delete(self, rate: Rate) -> bool:
        """Remove the rate with the key of this one; True if there was one."""
        ...


class StoredBudgets(Protocol):
    """The budgets; a user group has one at most."""

    async def all(self) -> Sequence[GroupBudget]:
        """All budgets, sorted by group."""
        ...

    async def put(self, budget: GroupBudget) -> None:
        """Write the whole budget of that group."""
        ...

    async def delete(self, group: str) -> bool:
        """Remove the budget of the group; True if there was one."""
        ...


class StoredCapacity(Protocol):
    """How much node time there was. It outlives the nodes."""

    async def last(self) -> datetime | None:
        """Up to when node time was counted; None: never."""
        ...

    async def first(self) -> datetime | None:
        """The first hour in which node time was counted; None: never."""
        ...

    async def add(self, part: NodeTime) -> None:
        """Add to what is stored for that group and hour."""
        ...

    async def between(self, since: datetime, until: datetime) -> Sequence[NodeTime]:
        """The hours that begin at `since` or later and before `until`, sorted by hour and group."""
        ...
