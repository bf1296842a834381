"""Connections to SQLite and PostgreSQL: both give the same guarantees and errors, and their statements are timed."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Engine, event, make_url, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from hai_client.linux.rights import make_folder
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.timings import Timings
from hai_scheduler.store.one_trip import creator

#: How long a writer waits for a writer of another process, in milliseconds: longer than any transaction of HAI takes.
_BUSY_MS = 30_000
#: A writer that hangs (it is stopped, its machine is gone, its network is cut) is disconnected after this time, in
#: milliseconds. Until then no other process can write or take over its lease. The time is longer than any plan takes,
#: because a tick sends no query while it plans.
_IDLE_MS = 10_000
#: Key of the advisory lock that the writer of this database holds: any number, the same in all processes.
_WRITER_LOCK = 0x48_41_49_01

_SQLITE_PRAGMAS = (
    f"PRAGMA busy_timeout = {_BUSY_MS}",
    # Readers and the writer do not wait for one another.
    "PRAGMA journal_mode = WAL",
    # One fsync a commit: a commit survives a power cut. With NORMAL it would survive only the end of the process.
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
)
#: Begins a transaction of SQLite with the writer's lock, which could be refused later.
_BEGIN_WRITING = text("BEGIN IMMEDIATE")
_LOCKS: Final = {
    "sqlite": _BEGIN_WRITING,
    "postgresql": text(
        "SELECT set_config('lock_timeout', :busy, true),"
        " set_config('idle_in_transaction_session_timeout', :idle, true),"
        " pg_advisory_xact_lock(:lock)"
    ).bindparams(busy=f"{_BUSY_MS}ms", idle=f"{_IDLE_MS}ms", lock=_WRITER_LOCK),
}

_SUPPORTED = "use sqlite:///PATH or postgresql://USER@HOST/NAME"
#: Options of every engine. Errors never show values: the environment of a task may hold secrets.
OPTIONS: Final[Mapping[str, Any]] = {
    "json_serializer": partial(json.dumps, separators=(",", ":"), allow_nan=False),
    "hide_parameters": True,
}


def parse(url: str) -> URL:
    """Return the URL with its driver.

    Raises ValueError if it is neither `sqlite:///FILE` nor `postgresql://...`; the message shows no password.
    """
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        # The text may hold a password, so it is not shown.
        raise ValueError(f"the state database is not given by a URL: {_SUPPORTED}") from error
    kind = parsed.get_backend_name()
    if kind == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    if kind == "sqlite" and parsed.database and parsed.database != ":memory:":
        return parsed.set(drivername="sqlite+aiosqlite")
    shown = parsed.render_as_string(hide_password=True)
    raise ValueError(f"the state database {shown!r} is not supported: {_SUPPORTED}")


def connect(url: URL) -> AsyncEngine:
    """Return an engine. It does not connect yet, but a missing SQLite file is created, readable by its owner only."""
    options: dict[str, Any] = {**OPTIONS, "pool_size": 5, "max_overflow": 15}
    if url.get_backend_name() == "postgresql":
        return create_async_engine(url, pool_pre_ping=True, **options)
    file = Path(str(url.database))
    _make_file(file)
    engine = create_async_engine(url, async_creator=creator(file), **options)
    prepare_sqlite(engine.sync_engine)
    return engine


def prepare_sqlite(engine: Engine) -> None:
    """Have an engine over connections of `open_file` give the guarantees of this module."""
    event.listen(engine, "connect", _set_pragmas)


def reading(engine: AsyncEngine) -> AsyncEngine:
    """Return an engine over the same connections, for consistent views."""
    if engine.dialect.name == "postgresql":
        # Not `postgresql_readonly`: a connection that had it asks for READ WRITE later, against what the server says.
        return engine.execution_options(isolation_level="REPEATABLE READ")
    return engine


def writing(engine: AsyncEngine) -> AsyncEngine:
    """Return an engine over the same connections, for transactions that write."""
    if engine.dialect.name == "postgresql":
        return engine.execution_options(isolation_level="READ COMMITTED")
    return engine


def begin_writing(connection: Connection) -> None:
    """Begin a transaction that writes, but in PostgreSQL not as the only one."""
    if connection.dialect.name == "sqlite":
        connection.execute(_BEGIN_WRITING)


def lock_writer(connection: Connection) -> None:
    """Begin a transaction that is the only writer until it ends.

    So seqs grow in commit order, a checked lease stays valid, and no transaction must be repeated.
    """
    connection.execute(_LOCKS[connection.dialect.name])


def _make_file(path: Path) -> None:
    make_folder(path.parent, 0o700)
    # SQLite gives its companion files the mode of this one.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))


def _set_pragmas(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    for pragma in _SQLITE_PRAGMAS:
        _execute_patiently(cursor, pragma)
    cursor.close()


def _execute_patiently(cursor: Any, statement: str) -> None:
    """Execute a statement, again while the database is locked: the change to WAL ignores SQLite's busy timeout."""
    ends = time.monotonic() + _BUSY_MS / 1000
    while True:
        try:
            cursor.execute(statement)
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > ends:
                raise
        time.sleep(0.02)


#: SQLSTATEs, or their classes, of what may pass while the statement stays the same and that are no OperationalError:
#: a read-only transaction (a standby, or `default_transaction_read_only`), and internal errors of the server.
_MAY_PASS = ("25006", "XX")


@contextmanager
def translated() -> Iterator[None]:
    """Raise Temporary for database errors of the block that may pass; errors of HAI itself are raised unchanged."""
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        raise Temporary(f"the state database does not answer: {error.orig}") from error
    except PoolTimeout as error:
        raise Temporary("the state database is busy: no connection became free") from error
    except DBAPIError as error:
        if error.connection_invalidated:
            raise Temporary(f"the connection to the state database broke: {error.orig}") from error
        if str(getattr(error.orig, "sqlstate", None)).startswith(_MAY_PASS):
            raise Temporary(f"the state database takes no changes now: {error.orig}") from error
        raise


#: The statements that are told apart by their first word.
_OPS: Final = frozenset({"select", "insert", "update", "delete"})


def time_statements(engine: AsyncEngine, timings: Timings) -> None:
    """Tell `timings` how long each statement takes, from sending it until its answer begins; failed ones as well."""

    def begins(_connection: Any, _cursor: Any, _statement: str, _parameters: Any, context: Any, _many: bool) -> None:
        context.hai_began = time.perf_counter()

    def ends(_connection: Any, _cursor: Any, statement: str, _parameters: Any, context: Any, _many: bool) -> None:
        timings.database(op_of(statement), time.perf_counter() - context.hai_began)

    def fails(context: Any) -> None:
        began = getattr(context.execution_context, "hai_began", None)
        if began is not None:
            timings.database(op_of(context.statement or ""), time.perf_counter() - began)

    event.listen(engine.sync_engine, "before_cursor_execute", begins)
    event.listen(engine.sync_engine, "after_cursor_execute", ends)
    event.listen(engine.sync_engine, "handle_error", fails)


def op_of(statement: str) -> str:
    """Return the word under which a statement is counted."""
    word = statement.lstrip()[:6].lower()
    return word if word in _OPS else "other"
