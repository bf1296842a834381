"""The audit in a transaction on a database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Column, ColumnElement, delete, func, insert, or_, select

from hai_scheduler.ports.values import AuditEntry, AuditFilter
from hai_scheduler.store.codec import to_instant
from hai_scheduler.store.rows import AUDITED
from hai_scheduler.store.small_tables import StoredPart
from hai_scheduler.store.tables import AUDIT

_ADD = insert(AUDIT)


class StoredAudit(StoredPart):
    """The entries of the audit, which are only appended: none is changed, and only those of long ago are deleted."""

    async def add(self, entry: AuditEntry) -> None:
        """Append an entry; its `number` is ignored, and grows in the order of commits.

        Numbers follow commits because writers are serialised.
        """
        await self._sql.change(_ADD, AUDITED.values(entry))

    async def page(self, where: AuditFilter, *, before: int | None, limit: int) -> Sequence[AuditEntry]:
        """At most `limit` matching entries with numbers smaller than `before` (None: any), newest first."""
        found = select(AUDIT).where(*_conditions(where)).order_by(AUDIT.c.id.desc()).limit(limit)
        if before is not None:
            found = found.where(AUDIT.c.id < before)
        return [AUDITED.of(row) for row in await self._sql.ask(found)]

    async def delete_before(self, when: datetime, *, limit: int) -> int:
        """Delete at most `limit` entries from before `when`, oldest first; returns how many."""
        old = select(AUDIT.c.id).where(AUDIT.c.at < to_instant(when)).order_by(AUDIT.c.id).limit(limit)
        return (await self._sql.change(delete(AUDIT).where(AUDIT.c.id.in_(old)))).rowcount


def _conditions(where: AuditFilter) -> Iterator[ColumnElement[bool]]:
    if where.actor is not None:
        yield AUDIT.c.actor == where.actor
    if where.action is not None:
        yield _is_or_belongs(AUDIT.c.action, where.action, ".")
    if where.subject is not None:
        yield _is_or_belongs(AUDIT.c.subject, where.subject, ":")
    if where.since is not None:
        yield AUDIT.c.at >= to_instant(where.since)
    if where.until is not None:
        yield AUDIT.c.at < to_instant(where.until)


def _is_or_belongs(column: Column[Any], word: str, mark: str) -> ColumnElement[bool]:
    """Return the condition that a column is the word, or begins with it and a mark."""
    # Not LIKE, which ignores letter case in SQLite; not a range, which follows the locale in PostgreSQL.
    first = f"{word}{mark}"
    return or_(column == word, func.substr(column, 1, len(first)) == first)
