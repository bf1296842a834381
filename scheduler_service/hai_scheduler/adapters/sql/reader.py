"""The store for a process that only reads: a worker beside the service that has made the tables."""

from __future__ import annotations

from typing import Any, NoReturn

from sqlalchemy import event

from hai_scheduler.adapters.sql.engine import connect, parse
from hai_scheduler.adapters.sql.store import SqlStore


class SqlReader(SqlStore):
    """A store in which nobody writes facts."""

    def write(self) -> NoReturn:
        """Raises RuntimeError."""
        raise RuntimeError("this store is for reading: orders are carried out without writing anything")


def open_reader(url: str) -> SqlReader:
    """The store of this address as it is: tables are neither looked at nor made.

    SQLite itself refuses to write through it; PostgreSQL does in every view. Nothing is connected yet. Raises
    ValueError for an address that `open_store` would not take.
    """
    engine = connect(parse(url))
    if engine.dialect.name == "sqlite":
        event.listen(engine.sync_engine, "connect", _read_only)
    return SqlReader(engine)


def _read_only(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA query_only = ON")
    cursor.close()
