"""The store for a process that only reads: a worker beside the service that has made the tables."""

from __future__ import annotations

from typing import Any

from sqlalchemy import event

from hai_scheduler.adapters.sql.engine import connect, parse
from hai_scheduler.adapters.sql.store import SqlStore


def open_reader(url: str) -> SqlStore:
    """The store of this address, as it is: tables are neither looked at nor made, and nothing can be written.

    Raises ValueError for an address that `open_store` would not take. Nothing is connected yet.
    """
    engine = connect(parse(url))
    if engine.dialect.name == "sqlite":
        # PostgreSQL is told so for each view (`engine.reading`).
        event.listen(engine.sync_engine, "connect", _read_only)
    return SqlStore(engine)


def _read_only(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA query_only = ON")
    cursor.close()
