"""Development containers that live, in a transaction of the store."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from hai_scheduler.core.ledger.development import DevelopmentContainer


class StoredContainers(Protocol):
    """The containers that live as far as is known; what they took is in the ledger, also when they are gone."""

    async def all(self) -> Sequence[DevelopmentContainer]:
        """All of them, sorted by id."""
        ...

    async def put(self, containers: Collection[DevelopmentContainer]) -> None:
        """Write these containers as a whole."""
        ...

    async def remove(self, ids: Collection[str]) -> None:
        """Remove those containers; no error for one that is not there."""
        ...
