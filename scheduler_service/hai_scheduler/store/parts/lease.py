"""The leader lease in a transaction on a database."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import select, update

from hai_scheduler.ports.errors import LeaseLost
from hai_scheduler.ports.values import Lease
from hai_scheduler.store.codec import of_instant, to_instant
from hai_scheduler.store.statements import Statements
from hai_scheduler.store.tables import LEASE

_LEASE_ID = 1
# Made once: to build a statement costs as much as to execute it.
_LEASE = select(LEASE)


class SqlLease:
    """See `ports.stored.lease.StoredLease`."""

    def __init__(self, statements: Statements) -> None:
        self._sql = statements

    async def get(self) -> Lease | None:
        """See `StoredLease.get`."""
        held = (await self._sql.ask(_LEASE)).first()
        if held is None or held.holder is None:
            return None
        return Lease(holder=held.holder, token=held.token, expires_at=of_instant(held.expires_at))

    async def acquire(self, holder: str, *, now: datetime, length: timedelta) -> Lease | None:
        """See `StoredLease.acquire`."""
        held = (await self._sql.ask(_LEASE)).first()
        mine = held is not None and held.holder == holder
        if held is not None and held.holder is not None and not mine and of_instant(held.expires_at) > now:
            return None
        token = (held.token if held is not None else 0) + (not mine)
        row = {"id": _LEASE_ID, "holder": holder, "token": token, "expires_at": to_instant(now + length)}
        await self._sql.put(LEASE, row)
        return Lease(holder=holder, token=token, expires_at=now + length)

    async def check(self, token: int) -> None:
        """See `StoredLease.check`. The lease stays valid, because no other writer can begin before this one ends."""
        held = (await self._sql.ask(_LEASE)).first()
        if held is None or held.holder is None or held.token != token:
            raise LeaseLost("another scheduler holds the leader lease, or none does")

    async def release(self, holder: str) -> None:
        """See `StoredLease.release`."""
        await self._sql.change(update(LEASE).where(LEASE.c.holder == holder).values(holder=None))
