"""Whether this process can serve, and who leads: what a load balancer asks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from hai_scheduler.ports.clock import Clock
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.store import Store
from hai_scheduler.ports.values import Lease
from hai_scheduler.service.shared.errors import Unavailable
from hai_scheduler.service.shared.watch import Watch

#: Which process leads, as seen from the one that is asked.
Leader = Literal["this", "another", "nobody"]


@dataclass(slots=True, kw_only=True)
class Readiness:
    """The use case. A cluster that cannot be reached makes no process unready: all of them would be."""

    store: Store
    clock: Clock
    watch: Watch
    #: Who this process is in the lease; None for one that never leads.
    holder: str | None
    #: Seconds within which the database has to answer.
    patience: float = 1.0
    #: Whether it has seen what it must before it can serve; None: the cluster, once.
    looked: Callable[[], bool] | None = None
    #: The look at the database that is under way.
    _looking: asyncio.Task[Lease | None] | None = None

    async def leader(self) -> Leader:
        """Who leads. Raises Unavailable when the database does not answer, or before the first look at the nodes.

        A process says that it leads only if the database has just said so too, and the lease cannot have run out since.
        """
        try:
            lease = await self._lease()
        except (Temporary, TimeoutError):
            raise Unavailable("The state database does not answer.") from None
        if not (self.watch.last_tick is not None if self.looked is None else self.looked()):
            raise Unavailable("The scheduler has not looked at the cluster yet.")
        if lease is None:
            return "nobody"
        if self.holder is not None and lease.holder == self.holder:
            return "this" if self.watch.leads else "nobody"
        return "another" if lease.expires_at > self.clock.now() else "nobody"

    async def _lease(self) -> Lease | None:
        """The lease as it is written. Raises Temporary, and TimeoutError after `patience`.

        A look at a database that has frozen cannot always be given up: the driver waits for it. So it is left alone
        until it has ended, and whoever asks meanwhile waits for the same one.
        """
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
            self._looking.add_done_callback(lambda look: look.cancelled() or look.exception())
        looking = self._looking
        done, _ = await asyncio.wait({looking}, timeout=self.patience)
        if not done:
            raise TimeoutError
        return looking.result()

    async def _look(self) -> Lease | None:
        async with self.store.read() as tx:
            return await tx.lease()
