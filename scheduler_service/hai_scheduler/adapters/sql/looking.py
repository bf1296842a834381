"""What a transaction sees at one look: how far the database has come, so that only what is new has to be read.

Most transactions of the scheduler's loop change nothing, and find nothing changed. One statement tells them so.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeVar

from sqlalchemy import CursorResult, Executable, Row, TextClause, text
from sqlalchemy.ext.asyncio import AsyncConnection

from hai_scheduler.adapters.sql.base import Part, Values
from hai_scheduler.adapters.sql.known import KnownFacts, KnownTasks
from hai_scheduler.adapters.sql.tables import SETTINGS

#: A row of settings with one random word for each small table, which changes whenever the table does: two equal words
#: stand for the same rows, whatever became of the database between them.
WORDS: Final = "~words"
#: The small tables.
FACTS: Final = ("environments", "marks", "mount_rules", "quotas", "settings", "strikes", "users", "uses")
#: A row of settings that changes whenever tasks are forgotten, see `Head.forgotten`.
FORGOTTEN: Final = "~forgotten"
#: Settings that are the store's own.
OWN: Final = frozenset({WORDS, FORGOTTEN})

#: The last id that was given, 0 before the first. The databases count themselves, deleted tasks included.
_LAST_TASK = {
    "sqlite": "coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'hai_tasks'), 0)",
    "postgresql": "(SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM hai_tasks_id_seq)",
}
_Rows = TypeVar("_Rows", bound=Sequence[Any] | Mapping[str, Any])


@cache
def _statement(dialect: str) -> TextClause:
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
    )


class LookingPart(Part):
    """The part of a transaction that knows how far the database has come."""

    def __init__(
        self, connection: AsyncConnection, *, writing: bool, known: KnownTasks, known_facts: KnownFacts
    ) -> None:
        super().__init__(connection, writing=writing)
        self._known = known
        self._known_facts = known_facts
        self._seen: Row[Any] | None = None
        #: The words of tables: a view does not change, and of several writers nobody writes but this one.
        self._words: dict[str, str] | None = None
        #: Small tables that this transaction has changed: what it reads of them is nobody else's.
        self._own_words: set[str] = set()

    async def _look(self) -> Row[Any]:
        """How far the database has come, with what this transaction has written so far."""
        if self._seen is None or self._over:
            self._seen = (await self._ask(_statement(self._connection.dialect.name))).one()
        return self._seen

    def _change_later(self, statement: Executable, rows: Iterable[Mapping[str, Any]]) -> None:
        self._seen = None
        super()._change_later(statement, rows)

    async def _change(self, statement: Executable, values: Values | None = None) -> CursorResult[Any]:
        self._seen = None
        return await super()._change(statement, values)

    async def _facts(self, table: str, read: Callable[[], Awaitable[_Rows]]) -> _Rows:
        """The rows of a small table, read unless they are known by the table's word. They must not be changed."""
        word = (await self._known_words()).get(table)
        if word is None and self._writing and table not in self._own_words:
            await self._changes(table)
        if word is None or table in self._own_words:
            return await read()
        rows = self._known_facts.get(table, word)
        if rows is None:
            era = self._known_facts.era
            rows = await read()
            self._known_facts.put(table, word, rows, era)
        return rows

    async def _changes(self, table: str) -> None:
        """The table is about to be changed: it gets another word, once in a transaction."""
        if table not in self._own_words and self._writing:
            # What is only ever read in views gets its word here, too.
            some = {each: secrets.token_hex(8) for each in FACTS}
            words = {**some, **await self._known_words(), table: secrets.token_hex(8)}
            await self._put(SETTINGS, {"name": WORDS, "value": json.dumps(words, sort_keys=True)})
            self._words = words
            self._own_words.add(table)

    async def _known_words(self) -> dict[str, str]:
        if self._words is None or self._over:
            seen = await self._look()
            self._words = {} if seen.words is None else dict(json.loads(seen.words))
        return self._words
