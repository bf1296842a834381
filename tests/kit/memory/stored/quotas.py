"""Quota and decayed use in a transaction of the memory store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hai_scheduler.core.model.quota import Quota, Usage
from kit.memory.draft import MemoryPart


class MemoryQuotas(MemoryPart):
    """See `ports.stored.quotas.StoredQuotas`."""

    async def all(self) -> Sequence[Quota]:
        """See `StoredQuotas.all`."""
        rows = self._draft.seen().quotas
        return [rows[key] for key in sorted(rows)]

    async def put(self, quota: Quota) -> None:
        """See `StoredQuotas.put`."""
        state = self._draft.writable()
        key = (quota.subject, quota.group, quota.priority)
        self._draft.state = replace(state, quotas={**state.quotas, key: quota})

    async def delete(self, quota: Quota) -> bool:
        """See `StoredQuotas.delete`."""
        state = self._draft.writable()
        key = (quota.subject, quota.group, quota.priority)
        self._draft.state = replace(state, quotas={k: row for k, row in state.quotas.items() if k != key})
        return key in state.quotas


class MemoryUses(MemoryPart):
    """See `ports.stored.quotas.StoredUses`."""

    async def all(self) -> Sequence[Usage]:
        """See `StoredUses.all`."""
        rows = self._draft.seen().uses
        return [rows[key] for key in sorted(rows)]

    async def put(self, use: Usage) -> None:
        """See `StoredUses.put`."""
        state = self._draft.writable()
        self._draft.state = replace(state, uses={**state.uses, (use.user, use.group): use})

    async def delete(self, use: Usage) -> None:
        """See `StoredUses.delete`."""
        state = self._draft.writable()
        self._draft.state = replace(state, uses={k: row for k, row in state.uses.items() if k != (use.user, use.group)})
