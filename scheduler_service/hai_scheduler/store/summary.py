"""Finds out with one query how far the database has come, so that a transaction reads only what is new.

Most transactions of the scheduler's loop change nothing, and find nothing changed. One statement shows them that.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from sqlalchemy import Row, TextualSelect, column, text

from hai_scheduler.store.statements import Statements

#: A row of settings with one random word for each small table, which changes whenever the table does: equal words mean
#: equal rows, even if the database was restored in between.
WORDS: Final = "~words"
#: A row of settings that changes whenever a task is deleted, see `Head.forgotten`.
FORGOTTEN: Final = "~forgotten"
#: Settings that only the store uses.
OWN: Final = frozenset({WORDS, FORGOTTEN})

#: The last id of a task that was given, 0 before the first. The databases count by themselves, deleted tasks included.
_LAST_TASK = {
    "sqlite": "coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'hai_tasks'), 0)",
    "postgresql": "(SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM hai_tasks_id_seq)",
}


#: The columns of a summary, in their order: with these, SQLAlchemy finds out once what a row of it is.
_COLUMNS: Final = (
    *("name", "epoch", "steps", "number", "first_task", "above", "last_task"),
    *("last_event", "words", "forgotten", "change", "task", "version", "saved_at"),
)


@cache
def statement_of(dialect: str) -> TextualSelect:
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


class Summary:
    """One row that says how far the database has come. It is read once, and again only after a write."""

    def __init__(self, statements: Statements) -> None:
        self._sql = statements
        self._row: Row[Any] | None = None
        #: `Statements.writes` when the row was read.
        self._writes = 0

    async def row(self) -> Row[Any]:
        """Return the row, with all that this transaction has written so far."""
        if self._row is None or self._writes != self._sql.writes or self._sql.over:
            self._row = (await self._sql.ask(statement_of(self._sql.dialect))).one()
            self._writes = self._sql.writes
        return self._row
