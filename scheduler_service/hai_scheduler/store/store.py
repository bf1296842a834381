"""The store: keeps tasks, quota, nodes, users and events, which are read and written in transactions."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, NoReturn

from sqlalchemy import event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.timings import Timings, Untimed
from hai_scheduler.store.engine import connect, lock_writer, parse, reading, time_statements, translated, writing
from hai_scheduler.store.known import KnownFacts, KnownTasks
from hai_scheduler.store.log_store import LogStore
from hai_scheduler.store.refusal import not_writable, refusal
from hai_scheduler.store.revision import is_newest, make_first_tables
from hai_scheduler.store.series_store import SeriesStore
from hai_scheduler.store.statements import Statements
from hai_scheduler.store.transaction import Tx

#: Bytes that a disk has free which is not full: a transaction may need as much.
_ROOM: Final = 1024 * 1024


class Store:
    """The durable state of the platform, in a database. What a committed transaction wrote survives any crash.

    `open_store` creates it. Raises Temporary when the database cannot be reached, is busy or is full: nothing was
    written then, unless the connection broke during the commit itself.
    """

    def __init__(self, engine: AsyncEngine, timings: Timings | None = None) -> None:
        self.engine = engine
        self._timings = timings or Untimed()
        if timings is not None:
            time_statements(engine, timings)
        self._readers = reading(engine)
        self._writers = writing(engine)
        self._known, self._known_facts = KnownTasks(), KnownFacts()
        # After any error, also that of a dead connection, the database may be another one.
        event.listen(engine.sync_engine, "handle_error", self._hear)
        # Serves writers of this process in order; without it each would hold a connection and wait for the database's
        # lock, in no order.
        self._turn = asyncio.Lock()
        self.logs = LogStore(engine, self._turn)
        self.series = SeriesStore(engine, self._turn)

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Tx]:
        """Open a consistent view, of the moment of entering. Writing in it is a RuntimeError."""
        with translated():
            async with self._readers.connect() as connection:
                statements = Statements(connection, writing=False)
                try:
                    # A view begins with its first read: this one, of what most views ask for first.
                    await statements.summary()
                    yield Tx(statements, known=self._known, known_facts=self._known_facts)
                finally:
                    statements.end()

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Tx]:
        """Open a transaction, the only writer of all processes: it commits at the end, rolls back on any exception."""
        with translated():
            asked = time.perf_counter()
            async with self._turn, self._writers.begin() as connection:
                await connection.run_sync(lock_writer)
                self._timings.database("turn", time.perf_counter() - asked)
                statements = Statements(connection, writing=True)
                try:
                    yield Tx(statements, known=self._known, known_facts=self._known_facts)
                    await statements.flush()
                finally:
                    statements.end()
                ends = time.perf_counter()
            self._timings.database("commit", time.perf_counter() - ends)

    def disk_full(self) -> bool:
        """Return whether the disk of SQLite's file is full; of PostgreSQL's disk nothing can be seen."""
        if self.engine.dialect.name != "sqlite":
            return False
        facts = os.statvfs(Path(str(self.engine.url.database)).absolute().parent)
        return facts.f_bavail * facts.f_frsize < _ROOM

    def forget(self) -> None:
        """Empty the cache: the next transactions of this process read everything again."""
        self._known.forget()
        self._known_facts.forget()

    async def close(self) -> None:
        """Close all connections; one that is in use, such as by a request, is closed after its use."""
        # They come back to a pool of which nobody takes a connection any more.
        event.listen(self.engine.sync_engine, "checkin", lambda _, connection: connection.close())
        await self.engine.dispose()

    def _hear(self, _error: object) -> None:
        self.forget()


async def open_store(url: str, timings: Timings | None = None) -> Store:
    """Open the database, create or upgrade its tables, and return the store.

    Args:
        url: `sqlite:///PATH` (created if it is missing) or `postgresql://USER:PASSWORD@HOST/NAME`.
        timings: Takes how long statements take.

    Raises:
        ValueError: The URL has neither form.
        StateDamaged: The file is not a database, or was damaged.
        StateTooNew: A version that is too new has written the state; nothing was changed.
        StateTooOld: The state is from before the first release; nothing was changed.
        StateUnusable: The database does not let the service in, or cannot be written.
        Temporary: The database cannot be reached.
    """
    parsed = parse(url)
    try:
        engine = connect(parsed)
    except OSError as error:
        raise not_writable(parsed, error.strerror or str(error)) from None
    try:
        with translated():
            if not await is_newest(engine) and not await make_first_tables(engine):
                # Alembic is needed once a version; other starts do not import it, which saves time.
                from hai_scheduler.store.migrate import upgrade

                await upgrade(engine)
    except (Temporary, DBAPIError) as error:
        await engine.dispose()
        raise refusal(parsed, error) or error from None
    except BaseException:
        await engine.dispose()
        raise
    return Store(engine, timings)


class ReadOnlyStore(Store):
    """A store that refuses to write."""

    def write(self) -> NoReturn:
        """Raise RuntimeError."""
        raise RuntimeError("this store is for reading: orders are carried out without writing anything")


def open_reader(url: str) -> ReadOnlyStore:
    """Return a store for reading the database of this URL; it neither checks nor creates tables.

    The database itself refuses writes of its connections. It does not connect yet. Raises ValueError for a URL that
    `open_store` would refuse.
    """
    engine = connect(parse(url))
    if engine.dialect.name == "sqlite":
        event.listen(engine.sync_engine, "connect", _read_only)
        return ReadOnlyStore(engine)
    return ReadOnlyStore(engine.execution_options(postgresql_readonly=True))


def _read_only(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA query_only = ON")
    cursor.close()
