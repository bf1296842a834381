"""Who of several replicas leads: the lease in the store, taken, held and given up."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hai_scheduler.ports.clock import Clock
from hai_scheduler.ports.errors import LeaseLost, Temporary
from hai_scheduler.ports.store import Store, Tx
from hai_scheduler.ports.values import Lease

log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Leadership:
    """This replica's part in the contest for the lease.

    A lease is over when the time in it has come, or when nobody has written it anew for a whole length of it while
    this replica was looking: clocks of machines that disagree neither keep a dead leader in office nor make two
    replicas take the lease from one another by turns.
    """

    store: Store
    clock: Clock
    #: Who this replica is, unlike any other.
    holder: str
    length: timedelta
    #: The name of a replica that is known to be dead: its lease counts no more, however long it still has.
    predecessor: str | None = None
    #: As last written by this replica; None while it does not lead.
    held: Lease | None = None
    #: Another's lease as last read, and since when it has looked so.
    _others: Lease | None = None
    _since: datetime | None = None
    #: What the transaction at hand writes, and until when that would be in force.
    _written: Lease | None = field(default=None)
    _written_until: float = 0.0
    #: Until when the lease is in force if nobody writes it, by a clock that nobody sets (`Clock.steady`).
    _until: float = 0.0

    @property
    def sure(self) -> bool:
        """Whether the lease that this replica last wrote cannot have run out yet.

        Before it has confirmed it again, a replica that was paused, or cut off from its database, must not say that it
        leads: another may.
        """
        return self.held is not None and self.clock.steady() < self._until

    @property
    def renews(self) -> bool:
        """Whether the transaction at hand, in which `hold` was called, writes the lease anew."""
        return self._written is not self.held

    async def seek(self) -> bool:
        """Whether this replica leads, as far as it knows; it takes the lease if that is free. Raises Temporary.

        What is decided must still be written in a transaction that has called `hold`. What has been observed before
        this said yes is worth nothing: another replica may have acted meanwhile.
        """
        if self.held is not None:
            return True
        async with self.store.read() as tx:
            lease = await tx.lease()
        now = self._time(lease)
        if now is None:
            return False
        until = self.clock.steady() + self.length.total_seconds()
        async with self.store.write() as tx:
            if self.predecessor is not None:
                await tx.release_lease(self.predecessor)
            taken = await tx.acquire_lease(self.holder, now=now, length=self.length)
        if taken is not None:
            log.info("leading from now on, with token %d", taken.token)
        self.held, self._others, self._since, self._until = taken, None, None, until
        return taken is not None

    def _time(self, lease: Lease | None) -> datetime | None:
        """The time at which the lease may be asked for; None while another's is in force."""
        now = self.clock.now()
        if lease is None or lease.holder in (self.holder, self.predecessor) or lease.expires_at <= now:
            return now
        if lease != self._others or self._since is None:
            self._others, self._since = lease, now
            return None
        # Its clock is ahead of ours: an extension of it in this moment still wins, because it is later than this.
        return lease.expires_at if now - self._since >= self.length else None

    async def hold(self, tx: Tx) -> None:
        """Be the leader to the end of the transaction; `keep` must follow its commit. Raises LeaseLost.

        The lease is written anew only when half of it is over: a tick that changes nothing writes nothing.
        """
        held, now, steady = self.held, self.clock.now(), self.clock.steady()
        if held is None:
            raise LeaseLost("this replica does not lead")
        try:
            await tx.check_lease(held.token)
        except LeaseLost:
            log.warning("another replica leads, or none: the lease with token %d is lost", held.token)
            self.held = None
            raise
        self._written, self._written_until = held, self._until
        left = min(held.expires_at - now, timedelta(seconds=self._until - steady))
        if left <= self.length / 2:
            self._written_until = steady + self.length.total_seconds()
            self._written = await tx.acquire_lease(self.holder, now=now, length=self.length)

    def keep(self) -> None:
        """The transaction that called `hold` is committed."""
        self.held, self._until = self._written, self._written_until

    async def release(self) -> None:
        """Give the lease up, so that another replica leads at once. Never raises Temporary: then it runs out."""
        try:
            async with self.store.write() as tx:
                await tx.release_lease(self.holder)
        except Temporary as error:
            log.warning("the lease could not be given up and runs out by itself: %s", error)
        self.held = None
