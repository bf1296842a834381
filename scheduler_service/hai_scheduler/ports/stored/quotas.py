"""Quota and decayed use in a transaction of the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hai_scheduler.core.model.quota import Quota, Usage


class StoredQuotas(Protocol):
    """The rows of quota, at most one for each subject, group and priority (Q1)."""

    async def all(self) -> Sequence[Quota]:
        """All rows, sorted by subject, group and priority."""
        ...

    async def put(self, quota: Quota) -> None:
        """Write the row of (subject, group, priority)."""
        ...

    async def delete(self, quota: Quota) -> bool:
        """Remove the row of (subject, group, priority); True if there was one."""
        ...


class StoredUses(Protocol):
    """The decayed use of users, at most one value for each user and node group (O3)."""

    async def all(self) -> Sequence[Usage]:
        """All uses, sorted by user and group."""
        ...

    async def put(self, use: Usage) -> None:
        """Write the use of (user, group)."""
        ...

    async def delete(self, use: Usage) -> None:
        """Remove the use of (user, group), if there is any."""
        ...
