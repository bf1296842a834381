"""A driver for SQLite that goes to its thread once for each statement.

aiosqlite runs a connection in a thread, and SQLAlchemy's adapter goes to that thread four times for each statement: to
get a cursor, to execute, to fetch the rows, to close the cursor. A trip costs more than most statements. Here the four
are one. This builds on classes of SQLAlchemy that are not public: the lock file fixes the version, and tests/contract
check the behaviour.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import aiosqlite
from sqlalchemy.dialects.sqlite.aiosqlite import (
    AsyncAdapt_aiosqlite_connection,
    AsyncAdapt_aiosqlite_cursor,
    AsyncAdapt_aiosqlite_dbapi,
)
from sqlalchemy.util import EMPTY_DICT
from sqlalchemy.util.concurrency import await_


class _Done:
    """The attributes that remain of a closed cursor."""

    __slots__ = ("arraysize", "description", "lastrowid", "rowcount")

    def __init__(self) -> None:
        self.description: Any = None
        self.rowcount = -1
        self.lastrowid: int | None = None
        self.arraysize = 1

    async def close(self) -> None:
        """Do nothing: the cursor is closed already."""


class _Cursor(AsyncAdapt_aiosqlite_cursor):
    """A cursor whose counterpart in the thread exists only while a statement runs."""

    __slots__ = ()

    def __init__(self, adapt_connection: Any) -> None:
        self._adapt_connection = adapt_connection
        self._connection = adapt_connection._connection
        self._cursor: Any = _Done()
        self._rows = deque()
        self._soft_closed_memoized = EMPTY_DICT

    def close(self) -> None:
        """Drop the rows; the cursor was already closed in its thread."""
        self._rows.clear()

    async def _execute_async(self, operation: Any, parameters: Any | None) -> Any:
        return await self._trip(lambda cursor: cursor.execute(operation, () if parameters is None else parameters))

    async def _executemany_async(self, operation: Any, seq_of_parameters: Sequence[Any]) -> Any:
        return await self._trip(lambda cursor: cursor.executemany(operation, seq_of_parameters))

    async def _trip(self, statement: Callable[[sqlite3.Cursor], object]) -> None:
        connection: Any = self._connection
        done = _Done()

        def work() -> list[Any]:
            cursor = connection._conn.cursor()
            try:
                statement(cursor)
                rows = cursor.fetchall() if cursor.description else []
                done.description, done.rowcount, done.lastrowid = cursor.description, cursor.rowcount, cursor.lastrowid
                return rows
            finally:
                cursor.close()

        async with self._adapt_connection._execute_mutex:
            self._rows = deque(await connection._execute(work))
        self._cursor = done


class _Connection(AsyncAdapt_aiosqlite_connection):
    __slots__ = ()

    _cursor_cls = _Cursor

    def rollback(self) -> None:
        """Roll back if a transaction is open: SQLAlchemy also calls this after a commit, and a trip would be wasted."""
        connection: Any = self._connection
        if connection._conn is None or connection._conn.in_transaction:
            super().rollback()


class _Driver(AsyncAdapt_aiosqlite_dbapi):
    def connect(self, *arg: Any, **kw: Any) -> AsyncAdapt_aiosqlite_connection:
        """Return a connection whose thread does not keep the process from ending."""
        connection: Any = aiosqlite.connect(*arg, **kw)
        connection._thread.daemon = True
        return _Connection(self, await_(connection))


def driver() -> AsyncAdapt_aiosqlite_dbapi:
    """Return the driver, for the argument `module` of `create_async_engine`."""
    return _Driver(aiosqlite, sqlite3)
