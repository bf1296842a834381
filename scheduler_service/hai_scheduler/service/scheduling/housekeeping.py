"""Deletes what is old: ended tasks with their logs, expired rows of quota, and decayed use; keeps the ledger."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.ordering.usage import decayed
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.service.accounting.capacity import CapacityNotes
from hai_scheduler.service.accounting.containers import ContainerBooks
from hai_scheduler.service.accounting.standings import BudgetCount
from hai_scheduler.service.origin.orphan_registry import left_alone, read_orphans
from hai_scheduler.service.people import stopping
from hai_scheduler.service.quota.default import decide
from hai_scheduler.service.scheduling.ledger_keeping import LedgerKeeping
from hai_scheduler.service.shared.changes import SCHEDULER
from hai_scheduler.service.shared.quota_rows import expired, key
from hai_scheduler.service.shared.world import UseCase

log = logging.getLogger(__name__)

#: Seconds between two looks at whether this replica leads.
LOOK: Final = 5.0

#: Chunks of series that are packed without a pause, and the pause, seconds.
PACKED_AT_ONCE: Final = 2
PACK_PAUSE_S: Final = 0.2

#: Tasks that are deleted in one transaction.
BATCH = 100
#: Entries of the audit that are deleted in one transaction.
AUDIT_BATCH: Final = 1000

#: How long expired rows of quota are kept, so that admins can see them (Q3).
KEEP_EXPIRED: Final = timedelta(days=30)

#: Use that has decayed below this, in node-seconds, is deleted (O3) when it has not changed for `KEEP_USE`: a short
#: half-life that an admin sets for a moment deletes nothing.
LEAST_USE: Final = 1.0
KEEP_USE: Final = timedelta(days=1)


@dataclass(slots=True, eq=False)
class Housekeeping(UseCase):
    """The slow loop beside the scheduling loop."""

    capacity: CapacityNotes = field(init=False)
    budgets: BudgetCount = field(init=False)
    ledger: LedgerKeeping = field(init=False)
    containers: ContainerBooks = field(init=False)

    def __post_init__(self) -> None:
        self.capacity, self.budgets = CapacityNotes(self.world), BudgetCount(self.world)
        self.ledger, self.containers = LedgerKeeping(self.world), ContainerBooks(self.world)

    def leads(self) -> bool:
        """Whether this replica leads: only one that does deletes anything."""
        return self.latest_plan.leading

    async def sweep(self) -> int:
        """Delete ended tasks that are older than `keep_ended`, with their logs; returns how many."""
        forgotten = 0
        while True:
            async with self.store.read() as tx:
                when = self.clock.now() - self.settings.keep_ended
                old = await tx.tasks.ended_before(when, limit=BATCH)
                theirs = left_alone(await read_orphans(tx))
                runs = [run.id for task in old for run in await tx.runs.of_task(task.id) if run.id not in theirs]
            if not old:
                return forgotten
            # Logs first: a crash in between leaves a task without a log, never a log without a task.
            for run_id in runs:
                await self._forget(run_id)
            async with self.store.write() as tx:
                for task in old:
                    await tx.tasks.delete(task.id)
            forgotten += len(old)

    async def sweep_users(self) -> int:
        """Delete the oldest ended tasks of users who are beyond their limits; returns how many."""
        forgotten = 0
        tasks, size = self.settings.ended_per_user, self.settings.bytes_per_user
        async with self.store.read() as tx:
            users = await tx.storage.users_beyond(ended_tasks=tasks, size=size)
        for user in users:
            while old := await self._too_much_of(user):
                async with self.store.read() as tx:
                    theirs = left_alone(await read_orphans(tx))
                    runs = [run.id for number in old for run in await tx.runs.of_task(number) if run.id not in theirs]
                for run_id in runs:
                    await self._forget(run_id)
                async with self.store.write() as tx:
                    for number in old:
                        await tx.tasks.delete(number)
                        # The history must not grow without limit when a user submits faster than tasks are kept.
                        await tx.events.delete_of_task(number)
                forgotten += len(old)
        return forgotten

    async def _forget(self, run_id: RunId) -> None:
        await self.cluster.forget(run_id)
        await self.store.series.forget(run_id)

    async def pack_series(self) -> int:
        """Pack the metrics of times that are over, a little at a time; returns how many chunks of time."""
        packed = 0
        while self.latest_plan.leading:
            now = int(self.clock.now().timestamp())
            done = await self.store.series.pack(now=now, limit=PACKED_AT_ONCE)
            packed += done
            if done < PACKED_AT_ONCE:
                break
            # Each chunk costs this process milliseconds, and its ticks must not wait for hundreds of them.
            await self.clock.sleep(PACK_PAUSE_S)
        return packed

    async def _too_much_of(self, user: str) -> list[TaskId]:
        """The user's oldest ended tasks that are beyond the limits, at most `BATCH` of them."""
        async with self.store.read() as tx:
            stored = await tx.storage.of_user(user)
            oldest = await tx.storage.ended_of(user, limit=BATCH)
        tasks = stored.ended_tasks - self.settings.ended_per_user
        size = stored.unfinished_bytes + stored.ended_bytes - self.settings.bytes_per_user
        beyond = []
        for number, bytes_ in oldest:
            if tasks <= 0 and size <= 0:
                break
            beyond.append(number)
            tasks, size = tasks - 1, size - bytes_
        return beyond

    async def sweep_lines(self) -> int:
        """Delete lines of history of tasks that have too many; returns how many lines."""
        async with self.store.write() as tx:
            return await tx.events.trim(self.settings.lines_per_task)

    async def sweep_quotas(self) -> int:
        """Delete rows of quota that expired long ago; returns how many."""
        now, removed = self.clock.now(), 0
        async with self.store.write() as tx:
            for row in await tx.quotas.all():
                if expired(row, now - KEEP_EXPIRED) and await tx.quotas.delete(row):
                    data = {**key(row), "because": "it expired"}
                    await tx.events.add(HistoryEvent(at=now, kind=EventKind.QUOTA_DELETED, actor=SCHEDULER, data=data))
                    removed += 1
        return removed

    async def sweep_uses(self) -> int:
        """Delete rows of use that have decayed to almost nothing; returns how many."""
        now, removed = self.clock.now(), 0
        async with self.store.write() as tx:
            for use in await tx.uses.all():
                half_life = self.policies.of(use.group).half_life
                if now - use.at >= KEEP_USE and decayed(use, now, half_life) < LEAST_USE:
                    await tx.uses.delete(use)
                    removed += 1
        return removed

    async def sweep_audit(self) -> int:
        """Delete entries of the audit that are older than `keep_audit`; returns how many."""
        forgotten, when = 0, self.clock.now() - self.policies.current.default.keep_audit
        while True:
            async with self.store.write() as tx:
                some = await tx.audit.delete_before(when, limit=AUDIT_BATCH)
            forgotten += some
            if some < AUDIT_BATCH:
                return forgotten

    async def stop_tasks_of_archived(self) -> int:
        """Tell tasks of archived users to stop that were not told when their user was archived; returns how many."""
        stopped = 0
        while True:
            # The next tick carries the effects out: it derives them from what is stored.
            some, _ = await stopping.stop_some(self.store, self.policies, now=self.clock.now())
            stopped += some
            if some < stopping.BATCH:
                return stopped

    async def decide_quota(self) -> None:
        """Try until the default quota is decided: on a cluster, nodes may get their labels after the installation."""
        while not (self.latest_plan.leading and await self._quota_decided()):
            await self.clock.sleep(LOOK)

    async def _quota_decided(self) -> bool:
        try:
            return await decide(self.store, self.latest_plan.groups(), self.settings.default_quota)
        except Temporary as error:
            log.info("the default quota waits for the database: %s", error)
        except Exception:  # trying again is all that can be done
            log.exception("the default quota could not be decided and is tried again")
        return False

    async def run(self, every_seconds: float = 3600.0, users_every_seconds: float = 60.0) -> None:
        """Sweep until cancelled, whenever this replica leads; in parallel, decide the default quota.

        Args:
            every_seconds: Seconds between two complete sweeps.
            users_every_seconds: Seconds between two sweeps of users who are beyond their limits.
        """
        async with asyncio.TaskGroup() as both:
            both.create_task(self.decide_quota())
            both.create_task(self._sweep_for_ever(every_seconds, users_every_seconds))

    async def _sweep_for_ever(self, every_seconds: float, users_every_seconds: float) -> None:
        next_all = self.clock.steady()
        while True:
            while not self.latest_plan.leading:
                await self.clock.sleep(LOOK)
            try:
                # First of all: what is deleted must be in the ledger.
                await self.ledger.count_live()
                if stopped := await self.stop_tasks_of_archived():
                    log.info("told %d tasks of archived users to stop", stopped)
                await self.containers.count()
                if early := await self.sweep_users():
                    log.info("forgot %d ended tasks of users who have more than they may", early)
                if self.clock.steady() >= next_all:
                    next_all = self.clock.steady() + every_seconds
                    await self._sweep_all()
                await self.capacity.note()
                if moved := await self.budgets.count():
                    log.info("%d user groups stand otherwise with their budgets than before", moved)
                await self.pack_series()
            except Exception:  # sweeping again later is all that can be done
                log.exception("sweeping failed and will be repeated")
            await self.clock.sleep(users_every_seconds)

    async def _sweep_all(self) -> None:
        counts = await self.sweep(), await self.sweep_lines(), await self.sweep_quotas(), await self.sweep_uses()
        if entries := await self.sweep_audit():
            log.info("forgot %d entries of the audit", entries)
        if any(counts):
            log.info(
                "forgot %d ended tasks, %d lines of history, %d expired rows of quota and %d decayed rows of use",
                *counts,
            )
