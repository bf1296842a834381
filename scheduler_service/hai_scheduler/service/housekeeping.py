"""Forgets what is old: ended tasks with their logs as the settings say, rows of quota long expired, use decayed."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from hai_scheduler.core.use import decayed
from hai_scheduler.ports import Clock, Cluster, Event, Store, Temporary
from hai_scheduler.service.changes import SCHEDULER
from hai_scheduler.service.default_quota import decide
from hai_scheduler.service.orphan_book import left_alone, read_orphans
from hai_scheduler.service.own_quota import expired, key
from hai_scheduler.service.policy_book import PolicyBook
from hai_scheduler.service.settings import ServiceSettings
from hai_scheduler.service.watch import Watch

log = logging.getLogger(__name__)

#: Seconds between two looks at whether this replica leads.
LOOK: Final = 5.0

#: Tasks forgotten in one transaction.
BATCH = 100

#: How long rows of quota are kept, for admins to see, after they have expired (Q3).
KEEP_EXPIRED: Final = timedelta(days=30)

#: Use that has decayed to less is forgotten (O3), in node seconds, once it has not changed for so long: a half-life
#: that an admin has set for a moment forgets nothing.
LEAST_USE: Final = 1.0
KEEP_USE: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Housekeeping:
    """The slow loop beside the scheduler's."""

    store: Store
    cluster: Cluster
    clock: Clock
    settings: ServiceSettings
    policies: PolicyBook
    watch: Watch

    async def sweep(self) -> int:
        """Forget everything that is old enough; how many tasks that were."""
        forgotten = 0
        while True:
            async with self.store.read() as tx:
                when = self.clock.now() - self.settings.keep_ended
                old = await tx.ended_before(when, limit=BATCH)
                theirs = left_alone(await read_orphans(tx))
                runs = [run.id for task in old for run in await tx.runs(task.id) if run.id not in theirs]
            if not old:
                return forgotten
            # Logs first: a crash in between leaves a task without a log, never a log without a task.
            for run_id in runs:
                await self.cluster.forget(run_id)
            async with self.store.write() as tx:
                for task in old:
                    await tx.delete_task(task.id)
            forgotten += len(old)

    async def sweep_quotas(self) -> int:
        """Remove rows of quota that expired long ago; how many that were."""
        now, removed = self.clock.now(), 0
        async with self.store.write() as tx:
            for row in await tx.quotas():
                if expired(row, now - KEEP_EXPIRED) and await tx.delete_quota(row):
                    data = {**key(row), "because": "it expired"}
                    await tx.add_event(Event(at=now, kind="quota.deleted", actor=SCHEDULER, data=data))
                    removed += 1
        return removed

    async def sweep_uses(self) -> int:
        """Remove rows of use that have decayed to nothing; how many that were."""
        now, removed = self.clock.now(), 0
        async with self.store.write() as tx:
            for use in await tx.uses():
                half_life = self.policies.of(use.group).half_life
                if now - use.at >= KEEP_USE and decayed(use, now, half_life) < LEAST_USE:
                    await tx.delete_use(use)
                    removed += 1
        return removed

    async def decide_quota(self) -> None:
        """Wait until the default quota is decided: on a cluster, nodes may get their labels after the installation."""
        while not (self.watch.leading and await self._quota_decided()):
            await self.clock.sleep(LOOK)

    async def _quota_decided(self) -> bool:
        try:
            return await decide(self.store, self.watch.groups(), self.settings.default_quota)
        except Temporary as error:
            log.info("the default quota waits for the database: %s", error)
            return False

    async def run(self, every_seconds: float = 3600.0) -> None:
        """Sweep for ever, while this replica leads. Before any node was seen there is nothing to sweep."""
        await self.decide_quota()
        while True:
            while not self.watch.leading:
                await self.clock.sleep(LOOK)
            try:
                counts = await self.sweep(), await self.sweep_quotas(), await self.sweep_uses()
                if any(counts):
                    log.info("forgot %d ended tasks, %d expired rows of quota and %d decayed rows of use", *counts)
            except Exception:  # sweeping again in an hour is all that can be done
                log.exception("sweeping failed and will be repeated")
            await self.clock.sleep(every_seconds)
