"""Development containers that live, in a transaction on a database."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Row, bindparam, delete, select

from hai_scheduler.core.ledger.development import DevelopmentContainer
from hai_scheduler.store.ledger_tables import CONTAINERS
from hai_scheduler.store.rows import of_instant, to_instant
from hai_scheduler.store.statements import Statements

_ALL = select(CONTAINERS)
_REMOVE = delete(CONTAINERS).where(CONTAINERS.c.id == bindparam("_id"))


class SqlContainers:
    """See `ports.stored.containers.StoredContainers`."""

    def __init__(self, statements: Statements) -> None:
        self._sql = statements

    async def all(self) -> Sequence[DevelopmentContainer]:
        """See `StoredContainers.all`."""
        return sorted((_container_of(row) for row in await self._sql.ask(_ALL)), key=lambda each: each.id)

    async def put(self, containers: Collection[DevelopmentContainer]) -> None:
        """See `StoredContainers.put`."""
        for container in containers:
            self._sql.put_later(CONTAINERS, _values(container))

    async def remove(self, ids: Collection[str]) -> None:
        """See `StoredContainers.remove`."""
        self._sql.change_later(_REMOVE, [{"_id": each} for each in ids])


def _values(container: DevelopmentContainer) -> dict[str, Any]:
    return {
        "id": container.id,
        "user_name": container.user,
        "groups": list(container.groups),
        "group_name": container.node_group,
        "gpus": container.gpus,
        "millicores": container.millicores,
        "started_at": to_instant(container.started_at),
        "seen_at": to_instant(container.seen_at),
    }


def _container_of(row: Row[Any]) -> DevelopmentContainer:
    return DevelopmentContainer(
        id=row.id,
        user=row.user_name,
        groups=tuple(row.groups),
        node_group=row.group_name,
        gpus=row.gpus,
        millicores=row.millicores,
        started_at=of_instant(row.started_at),
        seen_at=of_instant(row.seen_at),
    )
