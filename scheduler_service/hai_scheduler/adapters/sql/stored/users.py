"""Users in a transaction on a database."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select

from hai_scheduler.adapters.sql.small_tables import SmallTablePart
from hai_scheduler.adapters.sql.tables import USERS
from hai_scheduler.ports.values import UserRecord

# Made once: to build a statement costs as much as to execute it.
_USERS = select(USERS)


class SqlUsers(SmallTablePart):
    """See `ports.stored.users.StoredUsers`."""

    async def all(self) -> Sequence[UserRecord]:
        """See `StoredUsers.all`; by name."""
        return list(await self._tables.rows("users", self._read))

    async def put(self, user: UserRecord) -> None:
        """See `StoredUsers.put`."""
        await self._tables.changes("users")
        await self._sql.put(USERS, {"name": user.name, "groups": sorted(user.groups)})

    async def _read(self) -> Sequence[UserRecord]:
        rows = await self._sql.ask(_USERS)
        return sorted((UserRecord(name=row.name, groups=frozenset(row.groups)) for row in rows), key=lambda u: u.name)
