"""Keeps the ledger up to date: runs that go on are counted each hour, and sums are made again."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import Final

from hai_scheduler.core.ledger.periods import Period, begin_of
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.service.shared.booking import Booking, book
from hai_scheduler.service.shared.world import UseCase

log = logging.getLogger(__name__)

#: The hour until which live runs were counted.
COUNTED: Final = "ledger_counted"
#: Runs that are counted in one transaction.
BATCH: Final = 50
#: Seconds between two transactions: the loop's ticks must not wait for hundreds of them.
PAUSE_S: Final = 0.1


class LedgerKeeping(UseCase):
    """The slow work for the ledger. Each step is one transaction, and to repeat one changes nothing."""

    async def count_live(self) -> int:
        """Count live runs until the begin of this hour, if that was not done yet; returns how many."""
        hour = begin_of(Period.HOUR, self.clock.now())
        async with self.store.read() as tx:
            if await tx.settings.get(COUNTED) == hour.isoformat():
                return 0
        counted, after = 0, TaskId(0)
        while True:
            async with self.store.write() as tx:
                tasks = [task for task in await tx.tasks.unfinished() if task.id > after]
                some = [Booking(task, run) for task in tasks if (run := task.live_run) is not None][:BATCH]
                await book(tx, some, until=hour)
                if len(some) < BATCH:
                    await tx.settings.put(COUNTED, hour.isoformat())
            counted += len(some)
            if len(some) < BATCH:
                return counted
            after = some[-1].task.id
            await self.clock.sleep(PAUSE_S)

    async def recompute(self, since: datetime, until: datetime) -> None:
        """Make the sums of those full hours again, a day in a transaction. Raises ValueError for other times."""
        while since < until:
            end = min(until, begin_of(Period.DAY, since) + timedelta(days=1))
            async with self.store.write() as tx:
                await tx.ledger.recompute(since, end)
            since = end
            await self.clock.sleep(PAUSE_S)
