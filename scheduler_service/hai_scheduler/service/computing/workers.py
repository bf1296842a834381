"""Workers in this process, for a store in memory."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from hai_scheduler.ports.errors import Absent
from hai_scheduler.ports.logs import LogChunk, LogPlace
from hai_scheduler.ports.store import Store
from hai_scheduler.service.computing.fair_queue import FairQueue
from hai_scheduler.service.computing.work import Desk, begin
from hai_scheduler.service.shared.orders import Order, SnapshotFacts, Told


@dataclass(frozen=True, slots=True)
class Here:
    """Computes in a thread; see `ComputePool`. A computation that has begun cannot be cancelled."""

    store: Store
    queue: FairQueue = field(default_factory=lambda: FairQueue(1))

    async def do(self, user: str, order: Order, facts: SnapshotFacts | None = None, told: Told | None = None) -> Any:
        """See `ComputePool.do`."""
        async with self.queue.place(user):
            compute = await begin(order, facts, Desk(store=self.store, read_log=_no_folders))
            loop = asyncio.get_running_loop()

            def tell(done: float) -> None:
                if told is not None:
                    loop.call_soon_threadsafe(partial(told, done))

            return await asyncio.to_thread(compute, tell)

    async def close(self) -> None:
        """Do nothing: there is no process to end."""


def _no_folders(place: LogPlace, rank: int, offset: int, _limit: int) -> LogChunk:
    raise Absent(f"there is no folder {place.folder} for rank {rank} at {offset}")
