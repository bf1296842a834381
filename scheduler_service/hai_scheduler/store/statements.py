"""Executes the statements of one transaction, and finds out with one query how far the database has come.

Most transactions of the scheduler's loop change nothing, and find nothing changed. One statement shows them that.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from sqlalchemy import CursorResult, Executable, Table, TextualSelect, UpdateBase, column, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from hai_scheduler.store.tables import DATABASE, EVENTS, TASKS

#: A row of settings with one random word for each small table, which changes whenever the table does: equal words mean
#: equal rows, even if the database was restored in between.
WORDS: Final = "~words"
#: A row of settings that changes whenever a task is deleted, see `Head.forgotten`.
FORGOTTEN: Final = "~forgotten"

#: The last id of a task that was given, 0 before the first. The databases count by themselves, deleted tasks included.
_LAST_TASK: Final = {
    "sqlite": "coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'hai_tasks'), 0)",
    "postgresql": "(SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM hai_tasks_id_seq)",
}
#: The columns of a summary, in their order: with these, SQLAlchemy finds out once what a row of it is.
_COLUMNS: Final = (
    *("name", "epoch", "steps", "number", "first_task", "above", "last_task"),
    *("last_event", "words", "forgotten", "change", "task", "version", "saved_at"),
)

#: The values of one row.
Row = Mapping[str, Any]
#: Raises the error that says which of these rows was not written, and why.
Refuse = Callable[[Sequence[Row]], Awaitable[None]]
#: The tables whose writes a summary shows to the transaction that made them.
SUMMED: Final = frozenset({DATABASE, EVENTS, TASKS})


class Statements:
    """A connection with an open transaction, and whether it may write. The parts of the transaction share it.

    A transaction belongs to one coroutine at a time, because a connection executes one statement after the other.
    """

    def __init__(self, connection: AsyncConnection, *, writing: bool) -> None:
        self._connection = connection
        #: The kind of database: `sqlite` or `postgresql`.
        self.dialect = connection.dialect.name
        #: Whether the transaction may write.
        self.writing = writing
        #: Whether the transaction is over: every later call raises RuntimeError.
        self.over = False
        #: How many writes have been asked for that a summary shows: one that was read before is out of date.
        self.writes = 0
        #: Rows to be written, by statement: before the next query and at the end, all rows of a statement in one trip.
        self._later: dict[Executable, list[Row]] = {}
        #: Statements that must change each of their rows, and what is done if one does not. They are executed first.
        self._exact: dict[Executable, Refuse] = {}
        #: The summary, and `writes` when it was read.
        self._summary: tuple[Any, int] | None = None

    def end(self) -> None:
        """End the transaction: every later call raises RuntimeError."""
        self.over = True

    async def summary(self) -> Any:
        """Return one row that says how far the database has come. It is read once, and again only after a write."""
        if self._summary is None or self._summary[1] != self.writes or self.over:
            self._summary = (await self.ask(how_far(self.dialect))).one(), self.writes
        return self._summary[0]

    async def ask(self, statement: Executable, values: Row | Sequence[Row] | None = None) -> CursorResult[Any]:
        """Execute a statement after all that wait to be executed, and return its result."""
        self._check()
        if self._later:
            await self.flush()
        return await self._connection.execute(statement, values)

    async def change(self, statement: Executable, values: Row | Sequence[Row] | None = None) -> CursorResult[Any]:
        """Execute a statement that writes, as `ask` does. Raises RuntimeError in a view."""
        self._check(writes=statement)
        return await self.ask(statement, values)

    def change_later(self, statement: Executable, rows: Iterable[Row], *, refuse: Refuse | None = None) -> None:
        """Execute a statement for these rows later in this transaction, together with other rows for it.

        Args:
            statement: A statement that writes.
            rows: Its values, once for each time that it is to be executed.
            refuse: Called with all rows of the statement if it has not changed as many; it raises. None: any number
                is right.
        """
        self._check(writes=statement)
        if found := list(rows):
            self._later.setdefault(statement, []).extend(found)
            if refuse is not None:
                self._exact[statement] = refuse

    def put(self, table: Table, values: Row) -> None:
        """Insert a row, or replace the row with its primary key, later and together with other rows of the table."""
        self.change_later(_upsert(table, self.dialect), [values])

    async def flush(self) -> None:
        """Write all rows that are waiting to be written. Raises what `refuse` of `change_later` raises."""
        exact, self._exact = self._exact, {}
        for statement, refuse in exact.items():
            rows = self._later.pop(statement)
            if (await self._connection.execute(statement, rows)).rowcount != len(rows):
                self._later.clear()
                await refuse(rows)
        later, self._later = self._later, {}
        for statement, rows in later.items():
            await self._connection.execute(statement, rows)

    def _check(self, *, writes: Executable | None = None) -> None:
        if self.over:
            raise RuntimeError("this transaction is over: use it inside its `async with` only")
        if writes is not None:
            if not self.writing:
                raise RuntimeError("this is a read view: write in `Store.write()`")
            self.writes += not isinstance(writes, UpdateBase) or writes.table in SUMMED


@cache
def _upsert(table: Table, dialect: str) -> Executable:
    key = list(table.primary_key.columns)
    insert: postgresql.Insert | sqlite.Insert = (
        postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)
    )
    rest = {column.name: insert.excluded[column.name] for column in table.columns if not column.primary_key}
    return insert.on_conflict_do_update(index_elements=key, set_=rest)


@cache
def how_far(dialect: str) -> TextualSelect:
    """Return the query for a summary; `SUMMED` has its tables."""
    return text(
        f"""
        SELECT d.name, d.epoch, d.steps, d.number, d.first_task, d.above, {_LAST_TASK[dialect]} AS last_task,
          (SELECT coalesce(max(seq), 0) FROM hai_events) AS last_event,
          (SELECT value FROM hai_settings WHERE name = '{WORDS}') AS words,
          (SELECT value FROM hai_settings WHERE name = '{FORGOTTEN}') AS forgotten,
          n.change, n.id AS task, n.version, n.saved_at
        FROM hai_database d
        LEFT JOIN (SELECT change, id, version, saved_at FROM hai_tasks ORDER BY change DESC LIMIT 1) n ON 1 = 1
        """  # noqa: S608 - constants of this module
    ).columns(*(column(name) for name in _COLUMNS))
