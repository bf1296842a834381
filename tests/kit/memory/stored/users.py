"""Users in a transaction of the memory store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hai_scheduler.ports.values import UserRecord
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
