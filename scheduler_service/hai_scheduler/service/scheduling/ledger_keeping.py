"""Keeps the ledger up to date: runs that go on are counted each hour, and runs of earlier versions are brought in."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from hai_scheduler.core.ledger.periods import Period, begin_of
from hai_scheduler.core.ledger.slowdown import slowdown_of
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task
from hai_scheduler.ports.values import TaskFilter
from hai_scheduler.service.shared.booking import Booking, book
from hai_scheduler.service.shared.world import UseCase

log = logging.getLogger(__name__)

#: The hour until which live runs were counted, and the task before which runs are still to be brought in (0: the end).
COUNTED: Final = "ledger_counted"
IMPORT: Final = "ledger_import"
#: Runs that are counted, and tasks whose runs are brought in, in one transaction.
BATCH: Final = 50
#: Seconds between two transactions: the loop's ticks must not wait for hundreds of them.
PAUSE_S: Final = 0.1


class LedgerKeeping(UseCase):
    """The slow work for the ledger. Each step is one transaction, and to repeat one changes nothing."""

    async def bring_in(self) -> int:
        """Write the runs that were stored before there was a ledger; returns how many tasks were looked at."""
        looked = 0
        while done := await self._bring_some_in():
            looked += done
            await self.clock.sleep(PAUSE_S)
        return looked

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

    async def _bring_some_in(self) -> int:
        async with self.store.read() as tx:
            if await tx.settings.get(IMPORT) is None:
                return 0
        async with self.store.write() as tx:
            begin = int(await tx.settings.get(IMPORT) or 0)
            tasks = await tx.tasks.page(TaskFilter(), before=TaskId(begin) if begin else None, limit=BATCH)
            bookings: list[Booking] = []
            for task in tasks:
                bookings += _bookings(task, await tx.runs.of_task(task.id))
            known = await tx.ledger.of_runs({booking.run.id for booking in bookings})
            missing = [booking for booking in bookings if booking.run.id not in known]
            await book(tx, missing, until=begin_of(Period.HOUR, self.clock.now()))
            await tx.settings.put(IMPORT, str(tasks[-1].id) if tasks else None)
        if not tasks:
            log.info("all runs of earlier versions are in the ledger")
        return len(tasks)


def _bookings(task: Task, runs: Sequence[Run]) -> list[Booking]:
    """Return each run with its task as it waited for that run: since the end of the run before."""
    since, found = task.submitted_at, []
    for run in runs:
        last = task.run is not None and run.id == task.run.id
        found.append(Booking(replace(task, waiting_since=since), run, slowdown_of(task) if last else None))
        since = run.ended_at or run.started_at
    return found
