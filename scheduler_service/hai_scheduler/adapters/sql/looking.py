"""Finds out with one query how far the database has come, so that a transaction reads only what is new.

Most transactions of the scheduler's loop change nothing, and find nothing changed. One statement shows them that.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeVar

from sqlalchemy import CursorResult, Executable, Row, TextClause, text
from sqlalchemy.ext.asyncio import AsyncConnection

from hai_scheduler.adapters.sql.base import TxPart, Values
from hai_scheduler.adapters.sql.known import KnownFacts, KnownTasks
from hai_scheduler.adapters.sql.tables import SETTINGS

#: A row of settings with one random word for each small table, which changes whenever the table does: equal words mean
#: equal rows, even if the database was restored in between.
WORDS: Final = "~words"
#: The small tables.
FACTS: Final = ("environments", "marks", "mount_rules", "quotas", "settings", "strikes", "users", "uses")
#: A row of settings that changes whenever a task is deleted, see `Head.forgotten`.
FORGOTTEN: Final = "~forgotten"
#: Settings that only the store uses.
OWN: Final = frozenset({WORDS, FORGOTTEN})

#: The last id of a task that was given, 0 before the first. The databases count by themselves, deleted tasks included.
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


class LookingPart(TxPart):
    """The part of a transaction that knows how far the database has come."""

    def __init__(
        self, connection: AsyncConnection, *, writing: bool, known: KnownTasks, known_facts: KnownFacts
    ) -> None:
        super().__init__(connection, writing=writing)
        self._known = known
        self._known_facts = known_facts
        self._seen: Row[Any] | None = None
        #: The words of tables. They do not change meanwhile: a view is fixed, and there is only one writer at a time.
        self._words: dict[str, str] | None = None
        #: Small tables that this transaction has changed: other transactions do not see these rows yet.
        self._own_words: set[str] = set()

    async def _look(self) -> Row[Any]:
        """Return how far the database has come, with all that this transaction has written so far."""
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
        """Return the rows of a small table, from the cache if its word is known. Callers must not change them."""
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
        """Give a table that is about to be changed another word, once in a transaction."""
        if table not in self._own_words and self._writing:
            # Tables that are only read in views get their first word here too.
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
