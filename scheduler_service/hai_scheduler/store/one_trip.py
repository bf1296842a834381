"""Connections to SQLite that go to their thread once for each statement.

aiosqlite runs a connection in a thread, and SQLAlchemy goes to that thread four times for each statement: to get a
cursor, to execute, to fetch the rows, to close the cursor. A trip costs more than most statements. Here the four are
one, and a transaction begins in the trip of its first statement.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

import aiosqlite

#: How statements begin that no transaction is begun for.
_AS_THEY_ARE = ("BEGIN", "PRAGMA")


class _FileCursor(sqlite3.Cursor):
    def execute(self, statement: str, values: Any = ()) -> Self:
        self._begin(statement)
        return super().execute(statement, values)

    def executemany(self, statement: str, rows: Any) -> Self:
        self._begin(statement)
        return super().executemany(statement, rows)

    def _begin(self, statement: str) -> None:
        if not self.connection.in_transaction and not statement.startswith(_AS_THEY_ARE):
            super().execute("BEGIN")


class FileConnection(sqlite3.Connection):
    """A connection that begins a transaction with any first statement, where the driver begins one for writes alone.

    So all that is read until the end of the transaction is of one moment.
    """

    def cursor(self, _factory: object = None) -> _FileCursor:  # type: ignore[override]
        """Return a cursor."""
        return super().cursor(_FileCursor)


def open_file(file: Path) -> FileConnection:
    """Connect to a file, for use in any thread."""
    return sqlite3.connect(file, factory=FileConnection, check_same_thread=False, isolation_level=None)


class _Cursor:
    """What SQLAlchemy asks of a driver's cursor. Its counterpart in the thread exists only while a statement runs."""

    def __init__(self, connection: _Connection) -> None:
        self._connection = connection
        self._rows: Sequence[Any] = ()
        self.description: Any = None
        self.rowcount = -1
        self.lastrowid: int | None = None
        self.arraysize = 1

    async def __aenter__(self) -> Self:
        """Return it; there is nothing to wait for."""
        return self

    async def execute(self, statement: str, values: Sequence[Any] = ()) -> None:
        """Execute a statement, and keep its rows."""
        await self._connection.visit(lambda cursor: self._keep(cursor.execute(statement, values)))

    async def executemany(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Execute a statement with the values of each row."""
        await self._connection.visit(lambda cursor: self._keep(cursor.executemany(statement, rows)))

    async def fetchall(self) -> Sequence[Any]:
        """Return the rows."""
        return self._rows

    async def close(self) -> None:
        """Do nothing: the cursor in the thread is closed already."""

    def _keep(self, cursor: sqlite3.Cursor) -> None:
        self._rows = cursor.fetchall() if cursor.description else ()
        self.description, self.rowcount, self.lastrowid = cursor.description, cursor.rowcount, cursor.lastrowid


class _Connection(aiosqlite.Connection):
    def cursor(self) -> _Cursor:  # type: ignore[override]
        """Return a cursor, without a trip."""
        return _Cursor(self)

    async def visit(self, work: Callable[[sqlite3.Cursor], None]) -> None:
        """Do some work in the thread, with a cursor that is closed after it."""
        await self._execute(self._with_cursor, work)  # type: ignore[no-untyped-call]

    async def rollback(self) -> None:
        """Roll back if a transaction is open: SQLAlchemy also calls this after a commit, and a trip would be wasted."""
        if self.in_transaction:
            await super().rollback()

    def _with_cursor(self, work: Callable[[sqlite3.Cursor], None]) -> None:
        cursor = self._conn.cursor()
        try:
            work(cursor)
        finally:
            cursor.close()


def creator(file: Path) -> Callable[[], Awaitable[aiosqlite.Connection]]:
    """Return what connects to a file, for the argument `async_creator` of `create_async_engine`."""

    async def connected() -> aiosqlite.Connection:
        connection = _Connection(partial(open_file, file), iter_chunk_size=64)
        # Its thread does not keep the process from ending.
        connection._thread.daemon = True
        return await connection

    return connected
