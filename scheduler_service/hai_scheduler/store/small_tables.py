"""Small tables, which are read whole and cached from transaction to transaction."""

from __future__ import annotations

import json
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from hai_scheduler.store.known import KnownFacts
from hai_scheduler.store.statements import WORDS, Statements
from hai_scheduler.store.tables import SETTINGS

#: The small tables.
FACTS: Final = (
    "archived",
    "conditions",
    "environments",
    "fabrics",
    "identities",
    "marks",
    "mount_rules",
    "notification_rules",
    "quotas",
    "settings",
    "strikes",
    "users",
    "uses",
)

_Rows = TypeVar("_Rows", bound=Sequence[Any] | Mapping[str, Any])


class SmallTables:
    """The small tables in one transaction: a table is read only if its word, which changes with it, is not known."""

    def __init__(self, statements: Statements, known: KnownFacts) -> None:
        self._sql = statements
        self._known = known
        #: The words of tables. They do not change meanwhile: a view is fixed, and there is only one writer at a time.
        self._words: dict[str, str] | None = None
        #: Small tables that this transaction has changed: other transactions do not see these rows yet.
        self._own_words: set[str] = set()

    async def rows(self, table: str, read: Callable[[], Awaitable[_Rows]]) -> _Rows:
        """Return the rows of a table, from the cache if its word is known. Callers must not change them."""
        word = (await self._known_words()).get(table)
        if word is None and self._sql.writing and table not in self._own_words:
            await self.changes(table)
        if word is None or table in self._own_words:
            return await read()
        rows = self._known.get(table, word)
        if rows is None:
            era = self._known.era
            rows = await read()
            self._known.put(table, word, rows, era)
        return rows

    async def changes(self, table: str) -> None:
        """Give a table that is about to be changed another word, once in a transaction."""
        if table not in self._own_words and self._sql.writing:
            # Tables that are only read in views get their first word here too.
            some = {each: secrets.token_hex(8) for each in FACTS}
            words = {**some, **await self._known_words(), table: secrets.token_hex(8)}
            self._sql.put(SETTINGS, {"name": WORDS, "value": json.dumps(words, sort_keys=True)})
            self._words = words
            self._own_words.add(table)

    async def _known_words(self) -> dict[str, str]:
        if self._words is None or self._sql.over:
            words = (await self._sql.summary()).words
            self._words = {} if words is None else dict(json.loads(words))
        return self._words


class StoredPart:
    """A part of a transaction. What it needs beside these two it makes when it is asked: a transaction has many parts.

    Lists are sorted in Python, not by the database, whose order depends on its locale.
    """

    def __init__(self, statements: Statements, tables: SmallTables) -> None:
        self._sql = statements
        self._tables = tables
