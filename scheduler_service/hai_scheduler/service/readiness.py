"""Whether this replica can serve, and who leads: what a load balancer asks."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Literal

from hai_scheduler.ports import Clock, Store, Temporary
from hai_scheduler.service.errors import Unavailable
from hai_scheduler.service.watch import Watch

#: Which replica leads, as seen from the one that is asked.
Leader = Literal["this", "another", "nobody"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """The use case. A cluster that cannot be reached makes no replica unready: all of them would be."""

    store: Store
    clock: Clock
    watch: Watch
    #: Seconds within which the database has to answer.
    patience: float = 2.0

    async def leader(self) -> Leader:
        """Who leads. Raises Unavailable when the database does not answer, or before the first look at the nodes."""
        try:
            async with asyncio.timeout(self.patience), self.store.read() as tx:
                lease = await tx.lease()
        except (Temporary, TimeoutError):
            raise Unavailable("The state database does not answer.") from None
        if self.watch.last_tick is None:
            raise Unavailable("The scheduler has not looked at the cluster yet.")
        if self.watch.leading:
            return "this"
        return "another" if lease is not None and lease.expires_at > self.clock.now() else "nobody"
