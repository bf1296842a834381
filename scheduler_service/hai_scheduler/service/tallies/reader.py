"""Reads the tallies that the leader keeps in the store."""

from __future__ import annotations

from dataclasses import dataclass, field

from hai_scheduler.service.tallies.kept import SETTING, KeptTallies, kept_of
from hai_scheduler.store.store import Store


@dataclass(slots=True)
class TallyReader:
    """The tallies as last read."""

    store: Store
    kept: KeptTallies = field(default_factory=KeptTallies)

    async def look(self) -> None:
        """Read the tallies. Raises Temporary."""
        async with self.store.read() as tx:
            self.kept = kept_of(await tx.settings.get(SETTING))
