"""Development containers that live, in a transaction on a database."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import bindparam, delete, select

from hai_scheduler.core.ledger.development import DevelopmentContainer
from hai_scheduler.store.ledger_tables import CONTAINERS
from hai_scheduler.store.rows import CONTAINER
from hai_scheduler.store.small_tables import StoredPart

_ALL = select(CONTAINERS)
_REMOVE = delete(CONTAINERS).where(CONTAINERS.c.id == bindparam("_id"))


class StoredContainers(StoredPart):
    """The containers that live as far as is known; what they took is in the ledger, also when they are gone."""

    async def all(self) -> Sequence[DevelopmentContainer]:
        """All of them, sorted by id."""
        return sorted((CONTAINER.of(row) for row in await self._sql.ask(_ALL)), key=lambda each: each.id)

    async def put(self, containers: Collection[DevelopmentContainer]) -> None:
        """Write these containers as a whole."""
        for container in containers:
            self._sql.put(CONTAINERS, CONTAINER.values(container))

    async def remove(self, ids: Collection[str]) -> None:
        """Remove those containers; no error for one that is not there."""
        self._sql.change_later(_REMOVE, [{"_id": each} for each in ids])
