"""The leader lease in a transaction of the memory store."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from hai_scheduler.ports.errors import LeaseLost
from hai_scheduler.ports.values import Lease
from kit.memory.draft import MemoryPart
from kit.memory.state import HeldLease


class MemoryLease(MemoryPart):
    """See `ports.stored.lease.StoredLease`."""

    async def get(self) -> Lease | None:
        """See `StoredLease.get`."""
        held = self._draft.seen().lease
        if held.holder is None or held.expires_at is None:
            return None
        return Lease(holder=held.holder, token=held.token, expires_at=held.expires_at)

    async def acquire(self, holder: str, *, now: datetime, length: timedelta) -> Lease | None:
        """See `StoredLease.acquire`."""
        state = self._draft.writable()
        held = state.lease
        mine = held.holder == holder
        if held.holder is not None and not mine and held.expires_at is not None and held.expires_at > now:
            return None
        taken = HeldLease(holder=holder, token=held.token + (not mine), expires_at=now + length)
        self._draft.state = replace(state, lease=taken)
        return Lease(holder=holder, token=taken.token, expires_at=now + length)

    async def check(self, token: int) -> None:
        """See `StoredLease.check`."""
        held = self._draft.seen().lease
        if held.holder is None or held.token != token:
            raise LeaseLost("another scheduler holds the leader lease, or none does")

    async def release(self, holder: str) -> None:
        """See `StoredLease.release`."""
        state = self._draft.writable()
        if state.lease.holder == holder:
            self._draft.state = replace(state, lease=HeldLease(token=state.lease.token))
