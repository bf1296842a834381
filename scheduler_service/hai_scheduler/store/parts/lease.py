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


class StoredLease:
    """The lease of the process that leads; one process holds it at most, and its token never gets smaller."""

    def __init__(self, statements: Statements) -> None:
        self._sql = statements

    async def get(self) -> Lease | None:
        """The lease as it was last written, expired or not; None while no process holds it."""
        held = (await self._sql.ask(_LEASE)).first()
        if held is None or held.holder is None:
            return None
        return Lease(holder=held.holder, token=held.token, expires_at=of_instant(held.expires_at))

    async def acquire(self, holder: str, *, now: datetime, length: timedelta) -> Lease | None:
        """Take or extend the lease; None while another holder's lease has not expired.

        The token grows when the holder changes and stays when the same holder extends.
        """
        held = (await self._sql.ask(_LEASE)).first()
        mine = held is not None and held.holder == holder
        if held is not None and held.holder is not None and not mine and of_instant(held.expires_at) > now:
            return None
        token = (held.token if held is not None else 0) + (not mine)
        row = {"id": _LEASE_ID, "holder": holder, "token": token, "expires_at": to_instant(now + length)}
        self._sql.put(LEASE, row)
        return Lease(holder=holder, token=token, expires_at=now + length)

    async def check(self, token: int) -> None:
        """Raise LeaseLost unless the lease has this token. The token stays valid until the transaction ends.

        The lease stays valid, because no other writer can begin before this one ends.
        """
        held = (await self._sql.ask(_LEASE)).first()
        if held is None or held.holder is None or held.token != token:
            raise LeaseLost("another scheduler holds the leader lease, or none does")

    async def release(self, holder: str) -> None:
        """Give up the lease if this holder has it; from then on its token is refused."""
        await self._sql.change(update(LEASE).where(LEASE.c.holder == holder).values(holder=None))
