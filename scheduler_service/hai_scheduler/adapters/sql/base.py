"""What all parts of a transaction share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import CursorResult, Executable, Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

#: The values of one row, or of several.
Values = Mapping[str, Any] | Sequence[Mapping[str, Any]]


class Part:
    """A connection with an open transaction, and whether it may write.

    A transaction belongs to one coroutine at a time: a connection does one thing after the other.
    """

    def __init__(self, connection: AsyncConnection, *, writing: bool) -> None:
        self._connection = connection
        self._writing = writing
        self._over = False

    def end(self) -> None:
        """Nothing can be done in it any more."""
        self._over = True

    async def _ask(self, statement: Executable, values: Values | None = None) -> CursorResult[Any]:
        if self._over:
            raise RuntimeError("this transaction is over: use it inside its `async with` only")
        return await self._connection.execute(statement, values)

    async def _change(self, statement: Executable, values: Values | None = None) -> CursorResult[Any]:
        if not self._writing:
            raise RuntimeError("this is a read view: write in `Store.write()`")
        return await self._ask(statement, values)

    async def _put(self, table: Table, values: Mapping[str, Any]) -> None:
        """Insert the row, or write over the one with its primary key."""
        await self._change(_upsert(table, self._connection.dialect.name), values)


@cache
def _upsert(table: Table, dialect: str) -> Executable:
    key = list(table.primary_key.columns)
    insert: postgresql.Insert | sqlite.Insert = (
        postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)
    )
    rest = {column.name: insert.excluded[column.name] for column in table.columns if not column.primary_key}
    return insert.on_conflict_do_update(index_elements=key, set_=rest)
