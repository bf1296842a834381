"""Users in a transaction on a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import delete, select, update

from hai_scheduler.ports.values import ArchivedUser, UserRecord, UserVisit
from hai_scheduler.store.rows import of_instant, of_instant_or_none, to_instant, to_instant_or_none
from hai_scheduler.store.small_tables import SmallTablePart
from hai_scheduler.store.tables import ARCHIVED_USERS, USERS, VISITS

# Made once: to build a statement costs as much as to execute it.
_USERS, _VISITS, _ARCHIVED = select(USERS), select(VISITS), select(ARCHIVED_USERS)


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

    async def visits(self) -> Mapping[str, UserVisit]:
        """See `StoredUsers.visits`."""
        return {
            row.name: UserVisit(
                name=row.name, seen_at=of_instant(row.seen_at), admin_at=of_instant_or_none(row.admin_at)
            )
            for row in await self._sql.ask(_VISITS)
        }

    async def put_visit(self, visit: UserVisit) -> None:
        """See `StoredUsers.put_visit`."""
        values = {
            "name": visit.name,
            "seen_at": to_instant(visit.seen_at),
            "admin_at": to_instant_or_none(visit.admin_at),
        }
        if visit.admin_at is None:
            seen = update(VISITS).where(VISITS.c.name == visit.name).values(seen_at=values["seen_at"])
            if (await self._sql.change(seen)).rowcount:
                return
        await self._sql.put(VISITS, values)

    async def archived(self) -> Mapping[str, ArchivedUser]:
        """See `StoredUsers.archived`."""
        return dict(await self._tables.rows("archived", self._read_archived))

    async def archive(self, user: ArchivedUser) -> None:
        """See `StoredUsers.archive`."""
        await self._tables.changes("archived")
        values = {"name": user.name, "at": to_instant(user.at), "by_name": user.by, "note": user.note}
        await self._sql.put(ARCHIVED_USERS, values)

    async def restore(self, name: str) -> bool:
        """See `StoredUsers.restore`."""
        await self._tables.changes("archived")
        return (await self._sql.change(delete(ARCHIVED_USERS).where(ARCHIVED_USERS.c.name == name))).rowcount > 0

    async def _read_archived(self) -> Mapping[str, ArchivedUser]:
        return {
            row.name: ArchivedUser(name=row.name, at=of_instant(row.at), by=row.by_name, note=row.note)
            for row in await self._sql.ask(_ARCHIVED)
        }
