"""Who is archived, as every request asks it: read again every few seconds, and what archived users are told."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from hai_scheduler.ports.clock import Clock
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.store.store import Store

#: How long an answer of the store is believed, in seconds: so long an archived user's requests still pass elsewhere.
BELIEVED_S: Final = 2.0


def archived_sentence(name: str) -> str:
    """Return what a user who is archived is told."""
    return f"The user {name} is archived: ask an admin to restore this user (`hai admin user restore {name}`)."


@dataclass(slots=True, kw_only=True)
class ArchivedNames:
    """The names of archived users, as last read."""

    store: Store
    clock: Clock
    _names: Collection[str] = frozenset()
    #: When they were read, by `Clock.steady`; None: never.
    _read_at: float | None = None
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def includes(self, name: str) -> bool:
        """Whether that user is archived. While the database does not answer, the last answer counts."""
        if not self._fresh():
            # Requests that come at the same time share one reading.
            async with self._reading:
                if not self._fresh():
                    await self._read()
        return name in self._names

    def forget(self) -> None:
        """Read again at the next question: somebody was archived or restored here."""
        self._read_at = None

    def _fresh(self) -> bool:
        return self._read_at is not None and self.clock.steady() - self._read_at < BELIEVED_S

    async def _read(self) -> None:
        try:
            async with self.store.read() as tx:
                self._names = frozenset(await tx.users.archived())
        except Temporary:
            if self._read_at is None:
                raise
        self._read_at = self.clock.steady()
