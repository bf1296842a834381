"""The base class of all parts of a transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import CursorResult, Executable, Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

#: The values of one row, or of several.
Values = Mapping[str, Any] | Sequence[Mapping[str, Any]]


class TxPart:
    """A connection with an open transaction, and whether it may write.

    A transaction belongs to one coroutine at a time, because a connection executes one statement after the other.
    """

    def __init__(self, connection: AsyncConnection, *, writing: bool) -> None:
        self._connection = connection
        self._writing = writing
        self._over = False
        #: Rows to be written, by statement: before the next query and at the end, all rows of a statement in one trip.
        self._later: dict[Executable, list[Mapping[str, Any]]] = {}

    def end(self) -> None:
        """End the transaction: every later call raises RuntimeError."""
        self._over = True

    async def _ask(self, statement: Executable, values: Values | None = None) -> CursorResult[Any]:
        self._check()
        if self._later:
            await self.flush()
        return await self._connection.execute(statement, values)

    def _check(self, *, writes: bool = False) -> None:
        if self._over:
            raise RuntimeError("this transaction is over: use it inside its `async with` only")
        if writes and not self._writing:
            raise RuntimeError("this is a read view: write in `Store.write()`")

    async def _change(self, statement: Executable, values: Values | None = None) -> CursorResult[Any]:
        self._check(writes=True)
        return await self._ask(statement, values)

    def _change_later(self, statement: Executable, rows: Iterable[Mapping[str, Any]]) -> None:
        """Execute a statement for these rows later in this transaction, together with other rows for it."""
        self._check(writes=True)
        if found := list(rows):
            self._later.setdefault(statement, []).extend(found)

    async def flush(self) -> None:
        """Write all rows that are waiting to be written."""
        later, self._later = self._later, {}
        for statement, rows in later.items():
            await self._connection.execute(statement, rows)

    def _put_later(self, table: Table, values: Mapping[str, Any]) -> None:
        """Insert or replace a row as `_put` does, later and together with other rows of the table."""
        self._change_later(_upsert(table, self._connection.dialect.name), [values])

    async def _put(self, table: Table, values: Mapping[str, Any]) -> None:
        """Insert a row, or replace the row with its primary key."""
        await self._change(_upsert(table, self._connection.dialect.name), values)


@cache
def _upsert(table: Table, dialect: str) -> Executable:
    key = list(table.primary_key.columns)
    insert: postgresql.Insert | sqlite.Insert = (
        postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)
    )
    rest = {column.name: insert.excluded[column.name] for column in table.columns if not column.primary_key}
    return insert.on_conflict_do_update(index_elements=key, set_=rest)
