"""The leader lease in a transaction of the store."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Protocol

from hai_scheduler.ports.values import Lease


class StoredLease(Protocol):
    """The lease of the process that leads; one process holds it at most, and its token never gets smaller."""

    async def get(self) -> Lease | None:
        """The lease as it was last written, expired or not; None while no process holds it."""
        ...

    async def acquire(self, holder: str, *, now: datetime, length: timedelta) -> Lease | None:
        """Take or extend the lease; None while another holder's lease has not expired.

        The token grows when the holder changes and stays when the same holder extends.
        """
        ...

    async def check(self, token: int) -> None:
        """Raise LeaseLost unless the lease has this token. The token stays valid until the transaction ends."""
        ...

    async def release(self, holder: str) -> None:
        """Give up the lease if this holder has it; from then on its token is refused."""
        ...
