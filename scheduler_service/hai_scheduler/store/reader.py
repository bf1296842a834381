"""The store for a process that only reads: a worker beside the service, which has created the tables."""

from __future__ import annotations

from typing import Any, NoReturn

from sqlalchemy import event

from hai_scheduler.store.engine import connect, parse
from hai_scheduler.store.store import SqlStore


class SqlReader(SqlStore):
    """A store that refuses to write."""

    def write(self) -> NoReturn:
        """Raise RuntimeError."""
        raise RuntimeError("this store is for reading: orders are carried out without writing anything")


def open_reader(url: str) -> SqlReader:
    """Return a store for reading the database of this URL; it neither checks nor creates tables.

    The database itself refuses writes of its connections. It does not connect yet. Raises ValueError for a URL that
    `open_store` would refuse.
    """
    engine = connect(parse(url))
    if engine.dialect.name == "sqlite":
        event.listen(engine.sync_engine, "connect", _read_only)
        return SqlReader(engine)
    return SqlReader(engine.execution_options(postgresql_readonly=True))


def _read_only(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA query_only = ON")
    cursor.close()
