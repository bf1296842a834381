"""Users in a transaction of the memory store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hai_scheduler.ports.values import ArchivedUser, UserRecord, UserVisit
from kit.memory.draft import MemoryPart


class MemoryUsers(MemoryPart):
    """See `ports.stored.users.StoredUsers`."""

    async def all(self) -> Sequence[UserRecord]:
        """See `StoredUsers.all`; by name."""
        known = self._draft.seen().users
        return [known[name] for name in sorted(known)]

    async def put(self, user: UserRecord) -> None:
        """See `StoredUsers.put`."""
        state = self._draft.writable()
        self._draft.state = replace(state, users={**state.users, user.name: user})

    async def visits(self) -> Mapping[str, UserVisit]:
        """See `StoredUsers.visits`."""
        return dict(self._draft.seen().visits)

    async def put_visit(self, visit: UserVisit) -> None:
        """See `StoredUsers.put_visit`."""
        state = self._draft.writable()
        known = state.visits.get(visit.name, visit)
        kept = replace(visit, admin_at=visit.admin_at or known.admin_at)
        self._draft.state = replace(state, visits={**state.visits, visit.name: kept})

    async def archived(self) -> Mapping[str, ArchivedUser]:
        """See `StoredUsers.archived`."""
        return dict(self._draft.seen().archived)

    async def archive(self, user: ArchivedUser) -> None:
        """See `StoredUsers.archive`."""
        state = self._draft.writable()
        self._draft.state = replace(state, archived={**state.archived, user.name: user})

    async def restore(self, name: str) -> bool:
        """See `StoredUsers.restore`."""
        state = self._draft.writable()
        self._draft.state = replace(state, archived={k: one for k, one in state.archived.items() if k != name})
        return name in state.archived
