"""Visits of users, and archived users, in a transaction of the memory store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hai_scheduler.ports.values import ArchivedUser, UserVisit
from kit.memory.draft import MemoryPart


class MemoryPeople(MemoryPart):
    """See `ports.stored.people.StoredPeople`."""

    async def visits(self) -> Mapping[str, UserVisit]:
        """See `StoredPeople.visits`."""
        return dict(self._draft.seen().visits)

    async def put_visit(self, visit: UserVisit) -> None:
        """See `StoredPeople.put_visit`."""
        state = self._draft.writable()
        known = state.visits.get(visit.name, visit)
        kept = replace(visit, admin_at=visit.admin_at or known.admin_at)
        self._draft.state = replace(state, visits={**state.visits, visit.name: kept})

    async def archived(self) -> Mapping[str, ArchivedUser]:
        """See `StoredPeople.archived`."""
        return dict(self._draft.seen().archived)

    async def archive(self, user: ArchivedUser) -> None:
        """See `StoredPeople.archive`."""
        state = self._draft.writable()
        self._draft.state = replace(state, archived={**state.archived, user.name: user})

    async def restore(self, name: str) -> bool:
        """See `StoredPeople.restore`."""
        state = self._draft.writable()
        self._draft.state = replace(state, archived={k: one for k, one in state.archived.items() if k != name})
        return name in state.archived
