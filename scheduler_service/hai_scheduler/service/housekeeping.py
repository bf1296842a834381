"""Forgets what is old: ended tasks with their logs, once they have been kept as long as the settings say."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from hai_scheduler.ports import Clock, Cluster, Store
from hai_scheduler.service.settings import ServiceSettings

log = logging.getLogger(__name__)

#: Tasks forgotten in one transaction.
BATCH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Housekeeping:
    """The slow loop beside the scheduler's."""

    store: Store
    cluster: Cluster
    clock: Clock
    settings: ServiceSettings

    async def sweep(self) -> int:
        """Forget everything that is old enough; how many tasks that were."""
        forgotten = 0
        while True:
            async with self.store.read() as tx:
                when = self.clock.now() - self.settings.keep_ended
                old = await tx.ended_before(when, limit=BATCH)
                runs = [run.id for task in old for run in await tx.runs(task.id)]
            if not old:
                return forgotten
            # Logs first: a crash in between leaves a task without a log, never a log without a task.
            for run_id in runs:
                await self.cluster.forget(run_id)
            async with self.store.write() as tx:
                for task in old:
                    await tx.delete_task(task.id)
            forgotten += len(old)

    async def run(self, every_seconds: float = 3600.0) -> None:
        """Sweep for ever."""
        while True:
            try:
                forgotten = await self.sweep()
                if forgotten:
                    log.info("forgot %d ended tasks", forgotten)
            except Exception:  # sweeping again in an hour is all that can be done
                log.exception("sweeping failed and will be repeated")
            await self.clock.sleep(every_seconds)
