"""The audit in a transaction of the memory store."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from hai_scheduler.ports.values import AuditEntry, AuditFilter
from kit.memory.draft import MemoryPart


class MemoryAudit(MemoryPart):
    """See `ports.stored.audit.StoredAudit`."""

    async def add(self, entry: AuditEntry) -> None:
        """See `StoredAudit.add`."""
        state = self._draft.writable()
        added = replace(entry, number=state.last_audit + 1, before=_plain(entry.before), after=_plain(entry.after))
        self._draft.state = replace(state, last_audit=added.number, audit=(*state.audit, added))

    async def page(self, where: AuditFilter, *, before: int | None, limit: int) -> Sequence[AuditEntry]:
        """See `StoredAudit.page`."""
        entries = self._draft.seen().audit
        found = [one for one in reversed(entries) if _matches(one, where) and (before is None or one.number < before)]
        return found[:limit]

    async def delete_before(self, when: datetime, *, limit: int) -> int:
        """See `StoredAudit.delete_before`."""
        state = self._draft.writable()
        old = [one.number for one in state.audit if one.at < when][:limit]
        self._draft.state = replace(state, audit=tuple(one for one in state.audit if one.number not in old))
        return len(old)


def _plain(facts: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    # Through JSON, so that data that no database takes fail here too, and the caller's dict is not shared.
    plain: Mapping[str, Any] | None = json.loads(json.dumps(None if facts is None else dict(facts), allow_nan=False))
    return plain


def _matches(entry: AuditEntry, where: AuditFilter) -> bool:
    return (
        where.actor in (None, entry.actor)
        and (where.action is None or f"{entry.action}.".startswith(f"{where.action}."))
        and (where.subject is None or f"{entry.subject}:".startswith(f"{where.subject}:"))
        and (where.since is None or entry.at >= where.since)
        and (where.until is None or entry.at < where.until)
    )
