"""The store for tests that need one and are about something else: SQLite, without the waiting.

It is the store of the platform, on a file of its own in memory. Its statements are executed where they are asked for,
not in a thread: so a test in virtual time goes on when all that can happen has happened, however busy the machine is.
What threads and disks do to the store is what tests/contract and tests/integration/store are for.
"""

from __future__ import annotations

import atexit
import secrets
import shutil
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar, cast

from sqlalchemy import Connection, CursorResult, Engine, Executable, QueuePool, create_engine, event, update
from sqlalchemy.ext.asyncio import AsyncEngine

from hai_scheduler.store.engine import OPTIONS, prepare_sqlite
from hai_scheduler.store.one_trip import open_file
from hai_scheduler.store.revision import make_tables
from hai_scheduler.store.store import Store
from hai_scheduler.store.tables import DATABASE

#: A file system in memory, where the machine has one.
_MEMORY = Path("/dev/shm")  # a folder of its own is made in it
#: Statements as SQL, by statement: made once for all stores.
_COMPILED: dict[Any, Any] = {}
#: The name of the new database, of as many characters as any.
_NAME = b"-a-new-database-"
_T = TypeVar("_T")


class ScratchStore(Store):
    """A store of its own, which `close_scratch_stores` removes after each test.

    There is one for each file: of two writers in one thread, the second would keep the first from ever going on.
    """

    def __init__(self, content: bytes | None = None) -> None:
        """Open a new store, or one with the content of another one (`backup`)."""
        model, new = _model()
        self.path = _folder() / f"{secrets.token_hex(8)}.sqlite"
        # A copy of the new database gets a name of its own, as each database has (decision 0016).
        self.path.write_bytes(new.replace(_NAME, secrets.token_hex(8).encode()) if content is None else content)
        pool = QueuePool(partial(open_file, self.path), max_overflow=-1, dialect=model.dialect)
        engine = Engine(pool, model.dialect, model.url.set(database=str(self.path)), hide_parameters=True)
        engine.update_execution_options(compiled_cache=_COMPILED)
        prepare_sqlite(engine)
        event.listen(engine, "connect", _leave_to_memory)
        super().__init__(cast("AsyncEngine", InPlace(engine)))
        _stores.append(self)

    def backup(self) -> bytes:
        """The content of the database as a copy of it has it."""
        with closing(sqlite3.connect(self.path)) as connection:
            return connection.serialize()

    def restore(self, content: bytes) -> None:
        """Take the database back to a backup, but for the lease: as after a failover to a replica that lagged."""
        before = self.path.with_name(f"{self.path.name}.before")
        before.write_bytes(content)
        with closing(sqlite3.connect(before)) as old, closing(sqlite3.connect(self.path)) as now:
            old.execute("DELETE FROM hai_lease")
            old.executemany("INSERT INTO hai_lease VALUES (?, ?, ?, ?)", now.execute("SELECT * FROM hai_lease"))
            old.commit()
            old.backup(now)

    def remove(self) -> None:
        """Close the connections and remove the files."""
        # The dialect, which tells of errors, is the same for all stores.
        event.remove(self.engine.sync_engine, "handle_error", self._hear)
        self.engine.sync_engine.dispose()
        for path in self.path.parent.glob(f"{self.path.name}*"):
            path.unlink()


_stores: list[ScratchStore] = []


def close_scratch_stores() -> None:
    """Remove all that were opened since the last call."""
    while _stores:
        _stores.pop().remove()


def remove_scratch_folder() -> None:
    """Remove the folder of the stores of this process, at its end."""
    close_scratch_stores()
    shutil.rmtree(_folder(), ignore_errors=True)


class InPlace:
    """What the store needs of an AsyncEngine, over one that executes a statement where it is asked for."""

    def __init__(self, engine: Engine) -> None:
        self.sync_engine = engine
        self.url, self.pool, self.dialect = engine.url, engine.pool, engine.dialect

    def execution_options(self, **options: Any) -> InPlace:
        return InPlace(self.sync_engine.execution_options(**options))

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[InPlaceConnection]:
        with self.sync_engine.connect() as connection:
            yield InPlaceConnection(connection)

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[InPlaceConnection]:
        with self.sync_engine.begin() as connection:
            yield InPlaceConnection(connection)

    async def dispose(self) -> None:
        self.sync_engine.dispose()


class InPlaceConnection:
    """What the store needs of an AsyncConnection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.dialect = connection.dialect

    async def execute(self, statement: Executable, values: Any = None) -> CursorResult[Any]:
        return self._connection.execute(statement, values)

    async def run_sync(self, call: Callable[..., _T], *given: Any) -> _T:
        return call(self._connection, *given)


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="hai-stores-", dir=_MEMORY if _MEMORY.is_dir() else None))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def _model() -> tuple[Engine, bytes]:
    """An engine and a database with all tables, of which stores get copies: to make them takes longer."""
    path = _folder() / "new.sqlite"
    engine = create_engine(f"sqlite:///{path}", creator=partial(open_file, path), **OPTIONS)
    prepare_sqlite(engine)
    with engine.begin() as connection:
        make_tables(connection)
        connection.execute(update(DATABASE), {"name": _NAME.decode()})
    engine.dispose()
    return engine, path.read_bytes()


def _leave_to_memory(connection: Any, _record: object) -> None:
    connection.execute("PRAGMA synchronous = OFF")
