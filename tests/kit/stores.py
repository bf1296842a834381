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
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, QueuePool, create_engine, event
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.util import await_only

from hai_scheduler.store.engine import OPTIONS, prepare_sqlite
from hai_scheduler.store.first_tables import make_tables
from hai_scheduler.store.store import Store

#: A file system in memory, where the machine has one.
_MEMORY = Path("/dev/shm")  # a folder of its own is made in it
#: Statements as SQL, by statement: made once for all stores.
_COMPILED: dict[Any, Any] = {}


class ScratchStore(Store):
    """A store of its own, which `close_scratch_stores` removes after each test.

    There is one for each file: of two writers in one thread, the second would keep the first from ever going on.
    """

    def __init__(self, content: bytes | None = None) -> None:
        """Open a new store, or one with the content of another one (`backup`)."""
        self.path = _folder() / f"{secrets.token_hex(8)}.sqlite"
        model, new = _model()
        self.path.write_bytes(new if content is None else content)
        pool = QueuePool(self._connect, max_overflow=-1, dialect=model.dialect)
        self._in_place = Engine(pool, model.dialect, model.url.set(database=str(self.path)), hide_parameters=True)
        self._in_place.update_execution_options(compiled_cache=_COMPILED)
        # SQLAlchemy asks for a driver that waits; this one has nothing to wait for.
        event.listen(self._in_place, "before_cursor_execute", lambda *_: await_only(_nothing()))
        prepare_sqlite(self._in_place)
        event.listen(self._in_place, "connect", _leave_to_memory)
        if content is None:
            event.listen(self._in_place, "connect", _name, once=True)
        super().__init__(AsyncEngine(self._in_place))
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
        self._in_place.dispose()
        for path in self.path.parent.glob(f"{self.path.name}*"):
            path.unlink()

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, factory=_Connection, check_same_thread=False)


_stores: list[ScratchStore] = []


def close_scratch_stores() -> None:
    """Remove all that were opened since the last call."""
    while _stores:
        _stores.pop().remove()


class _Cursor(sqlite3.Cursor):
    async def _async_soft_close(self) -> None:
        """Do nothing: SQLAlchemy asks this of a cursor that waits."""


class _Connection(sqlite3.Connection):
    def cursor(self, factory: type[sqlite3.Cursor] = _Cursor) -> sqlite3.Cursor:
        return super().cursor(factory)


async def _nothing() -> None:
    pass


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="hai-stores-", dir=_MEMORY if _MEMORY.is_dir() else None))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def _model() -> tuple[Engine, bytes]:
    """An engine and a database with all tables, of which stores get copies: to make them takes longer."""
    path = _folder() / "new.sqlite"
    engine = create_engine(f"sqlite:///{path}", **OPTIONS)
    prepare_sqlite(engine)
    with engine.begin() as connection:
        make_tables(connection)
    engine.dispose()
    engine.dialect.is_async = True
    return engine, path.read_bytes()


def _leave_to_memory(connection: Any, _record: object) -> None:
    connection.execute("PRAGMA synchronous = OFF")


def _name(connection: Any, _record: object) -> None:
    """Give a copy of the new database a name of its own, as each database has (decision 0016)."""
    connection.execute("UPDATE hai_database SET name = ?", (secrets.token_hex(8),))
