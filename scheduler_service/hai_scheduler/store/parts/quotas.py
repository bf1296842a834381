"""Quota and decayed use in a transaction on a database."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import and_, delete, select

from hai_scheduler.core.model.quota import Quota, Usage
from hai_scheduler.store.rows import QUOTA, USE
from hai_scheduler.store.small_tables import StoredPart
from hai_scheduler.store.tables import QUOTAS, USES

# Made once: to build a statement costs as much as to execute it.
_QUOTAS, _USES = select(QUOTAS), select(USES)


class StoredQuotas(StoredPart):
    """The rows of quota, at most one for each subject, group and priority (Q1)."""

    async def all(self) -> Sequence[Quota]:
        """All rows, sorted by subject, group and priority."""
        return list(await self._tables.rows("quotas", self._read))

    async def put(self, quota: Quota) -> None:
        """Write the row of (subject, group, priority)."""
        await self._tables.changes("quotas")
        self._sql.put(QUOTAS, QUOTA.values(quota))

    async def delete(self, quota: Quota) -> bool:
        """Remove the row of (subject, group, priority); True if there was one."""
        await self._tables.changes("quotas")
        row = and_(
            QUOTAS.c.subject == quota.subject,
            QUOTAS.c.group_name == quota.group,
            QUOTAS.c.priority == quota.priority.value,
        )
        return (await self._sql.change(delete(QUOTAS).where(row))).rowcount > 0

    async def _read(self) -> Sequence[Quota]:
        rows = [QUOTA.of(row) for row in await self._sql.ask(_QUOTAS)]
        return sorted(rows, key=lambda quota: (quota.subject, quota.group, quota.priority))


class StoredUses(StoredPart):
    """The decayed use of users, at most one value for each user and node group (O3)."""

    async def all(self) -> Sequence[Usage]:
        """All uses, sorted by user and group."""
        return list(await self._tables.rows("uses", self._read))

    async def put(self, use: Usage) -> None:
        """Write the use of (user, group)."""
        await self._tables.changes("uses")
        self._sql.put(USES, USE.values(use))

    async def delete(self, use: Usage) -> None:
        """Remove the use of (user, group), if there is any."""
        await self._tables.changes("uses")
        row = and_(USES.c.user_name == use.user, USES.c.group_name == use.group)
        await self._sql.change(delete(USES).where(row))

    async def _read(self) -> Sequence[Usage]:
        rows = [USE.of(row) for row in await self._sql.ask(_USES)]
        return sorted(rows, key=lambda use: (use.user, use.group))
