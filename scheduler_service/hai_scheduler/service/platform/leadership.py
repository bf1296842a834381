"""Leader election between replicas: the lease in the store is taken, held and given up."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hai_scheduler.ports.errors import LeaseLost, Temporary
from hai_scheduler.ports.store import Tx
from hai_scheduler.ports.values import Lease
from hai_scheduler.service.shared.world import UseCase

log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Leadership(UseCase):
    """Takes, holds and gives up the lease for this replica.

    A lease expires at the time in it, or when its holder has not renewed it for a whole lease length while this replica
    watched. So clocks that differ between machines neither keep a dead leader in office nor make two replicas take the
    lease from each other in turn.
    """

    #: The name of a replica that is known to be dead: its lease no longer counts, even before it expires.
    predecessor: str | None = None
    #: The lease as this replica last wrote it; None while it does not lead.
    held: Lease | None = None
    #: The lease of another replica as last read, and since when it is unchanged.
    _others: Lease | None = None
    _since: datetime | None = None
    #: The lease that the present transaction writes, and until when it would be valid, by `Clock.steady`.
    _written: Lease | None = field(default=None)
    _written_until: float = 0.0
    #: Until when the lease is valid without a renewal, by `Clock.steady`.
    _until: float = 0.0

    @property
    def sure(self) -> bool:
        """True if the lease that this replica last wrote cannot have expired yet.

        A replica that was stopped, or cut off from its database, must not claim to lead until it has renewed the lease:
        another replica may lead.
        """
        return self.held is not None and self.clock.steady() < self._until

    @property
    def renews(self) -> bool:
        """True if the present transaction, in which `hold` was called, renews the lease."""
        return self._written is not self.held

    async def seek(self) -> bool:
        """Take the lease if it is free. Raises Temporary.

        Decisions must still be written in a transaction that has called `hold`. Observations from before this call
        returned True must not be used: another replica may have acted since.

        Returns:
            True if this replica leads, as far as it knows.
        """
        if self.held is not None:
            return True
        async with self.store.read() as tx:
            lease = await tx.lease.get()
        now = self._time(lease)
        if now is None:
            return False
        until = self.clock.steady() + self.settings.lease_length.total_seconds()
        async with self.store.write() as tx:
            if self.predecessor is not None:
                await tx.lease.release(self.predecessor)
            taken = await tx.lease.acquire(self.world.holder, now=now, length=self.settings.lease_length)
        if taken is not None:
            log.info("leading from now on, with token %d", taken.token)
        self.held, self._others, self._since, self._until = taken, None, None, until
        return taken is not None

    def _time(self, lease: Lease | None) -> datetime | None:
        """The time with which to ask for the lease; None while the lease of another replica is valid."""
        now = self.clock.now()
        if lease is None or lease.holder in (self.world.holder, self.predecessor) or lease.expires_at <= now:
            return now
        if lease != self._others or self._since is None:
            self._others, self._since = lease, now
            return None
        # The other clock is ahead of ours: if its holder renews the lease now, that renewal is later and wins.
        return lease.expires_at if now - self._since >= self.settings.lease_length else None

    async def hold(self, tx: Tx) -> None:
        """Stay the leader to the end of the transaction; `keep` must follow its commit. Raises LeaseLost.

        The lease is renewed only when half of it is over, so that most ticks without changes write nothing.
        """
        held, now, steady = self.held, self.clock.now(), self.clock.steady()
        if held is None:
            raise LeaseLost("this replica does not lead")
        try:
            await tx.lease.check(held.token)
        except LeaseLost:
            log.warning("another replica leads, or none: the lease with token %d is lost", held.token)
            self.held = None
            raise
        self._written, self._written_until = held, self._until
        left = min(held.expires_at - now, timedelta(seconds=self._until - steady))
        if left <= self.settings.lease_length / 2:
            self._written_until = steady + self.settings.lease_length.total_seconds()
            self._written = await tx.lease.acquire(self.world.holder, now=now, length=self.settings.lease_length)

    def keep(self) -> None:
        """Take over the lease of the transaction that called `hold`: it has been committed."""
        self.held, self._until = self._written, self._written_until

    async def release(self) -> None:
        """Give up the lease, so that another replica can lead at once. If that fails, the lease expires by itself."""
        try:
            async with self.store.write() as tx:
                await tx.lease.release(self.world.holder)
        except Temporary as error:
            log.warning("the lease could not be given up and runs out by itself: %s", error)
        self.held = None
