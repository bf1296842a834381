"""The audit as admins read it, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hai_scheduler.ports.values import AuditEntry, AuditFilter
from hai_scheduler.service.shared.caller import Caller, admins_only
from hai_scheduler.service.shared.world import UseCase


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditView:
    """A page of the audit; cursor None means that it is the last page."""

    items: Sequence[AuditEntry]
    cursor: int | None


class AuditReading(UseCase):
    """The use case of reading the audit."""

    async def page(self, caller: Caller, where: AuditFilter, *, cursor: int | None, limit: int) -> AuditView:
        """A page of the entries that match; `cursor` is that of the page before. Raises Forbidden."""
        admins_only(caller)
        async with self.store.read() as tx:
            found = await tx.audit.page(where, before=cursor, limit=limit + 1)
        more = len(found) > limit
        return AuditView(items=found[:limit], cursor=found[limit - 1].number if more else None)
