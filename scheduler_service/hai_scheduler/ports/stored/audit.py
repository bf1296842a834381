"""The audit in a transaction of the store: who changed what."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from hai_scheduler.ports.values import AuditEntry, AuditFilter


class StoredAudit(Protocol):
    """The entries of the audit, which are only appended: none is changed, and only those of long ago are deleted."""

    async def add(self, entry: AuditEntry) -> None:
        """Append an entry; its `number` is ignored, and grows in the order of commits."""
        ...

    async def page(self, where: AuditFilter, *, before: int | None, limit: int) -> Sequence[AuditEntry]:
        """At most `limit` matching entries with numbers smaller than `before` (None: any), newest first."""
        ...

    async def delete_before(self, when: datetime, *, limit: int) -> int:
        """Delete at most `limit` entries from before `when`, oldest first; returns how many."""
        ...
