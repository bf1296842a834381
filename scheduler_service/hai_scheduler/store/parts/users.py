"""Users in a transaction on a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import delete, select, update

from hai_scheduler.core.workspace.identity import Identity
from hai_scheduler.ports.values import ArchivedUser, UserRecord, UserVisit
from hai_scheduler.store.rows import ARCHIVED_USER, IDENTITY, USER, VISIT
from hai_scheduler.store.small_tables import StoredPart
from hai_scheduler.store.tables import ARCHIVED_USERS, IDENTITIES, USERS, VISITS

# Made once: to build a statement costs as much as to execute it.
_USERS, _VISITS, _ARCHIVED = select(USERS), select(VISITS), select(ARCHIVED_USERS)
_IDENTITIES = select(IDENTITIES)


class StoredUsers(StoredPart):
    """The users that the service has seen, as the Hub last showed them; when they were seen, and who is archived.

    One record, one visit, one archiving and one identity for a name.
    """

    async def all(self) -> Sequence[UserRecord]:
        """All users, sorted by name."""
        return list(await self._tables.rows("users", self._read))

    async def put(self, user: UserRecord) -> None:
        """Write what the Hub says of a user."""
        await self._tables.changes("users")
        self._sql.put(USERS, USER.values(user))

    async def _read(self) -> Sequence[UserRecord]:
        rows = await self._sql.ask(_USERS)
        return sorted((USER.of(row) for row in rows), key=lambda u: u.name)

    async def visits(self) -> Mapping[str, UserVisit]:
        """The latest known visit of every user, by name."""
        return {row.name: VISIT.of(row) for row in await self._sql.ask(_VISITS)}

    async def put_visit(self, visit: UserVisit) -> None:
        """Write the latest visit of a user; `admin_at` None leaves what is stored of that."""
        values = VISIT.values(visit)
        if visit.admin_at is None:
            seen = update(VISITS).where(VISITS.c.name == visit.name).values(seen_at=values["seen_at"])
            if (await self._sql.change(seen)).rowcount:
                return
        self._sql.put(VISITS, values)

    async def archived(self) -> Mapping[str, ArchivedUser]:
        """The archived users, by name."""
        return dict(await self._tables.rows("archived", self._read_archived))

    async def archive(self, user: ArchivedUser) -> None:
        """Write that a user is archived."""
        await self._tables.changes("archived")
        self._sql.put(ARCHIVED_USERS, ARCHIVED_USER.values(user))

    async def restore(self, name: str) -> bool:
        """Remove that; True if the user was archived."""
        await self._tables.changes("archived")
        return (await self._sql.change(delete(ARCHIVED_USERS).where(ARCHIVED_USERS.c.name == name))).rowcount > 0

    async def _read_archived(self) -> Mapping[str, ArchivedUser]:
        return {row.name: ARCHIVED_USER.of(row) for row in await self._sql.ask(_ARCHIVED)}

    async def identities(self) -> Mapping[str, Identity]:
        """What the latest login of each user told of their account, by name."""
        return dict(await self._tables.rows("identities", self._read_identities))

    async def put_identity(self, identity: Identity) -> None:
        """Write what a login told; the name of the account is the user's."""
        await self._tables.changes("identities")
        self._sql.put(IDENTITIES, IDENTITY.values(identity))

    async def remove_identity(self, name: str) -> None:
        """Remove it: the latest login of that user told none."""
        await self._tables.changes("identities")
        await self._sql.change(delete(IDENTITIES).where(IDENTITIES.c.name == name))

    async def _read_identities(self) -> Mapping[str, Identity]:
        return {row.name: IDENTITY.of(row) for row in await self._sql.ask(_IDENTITIES)}
