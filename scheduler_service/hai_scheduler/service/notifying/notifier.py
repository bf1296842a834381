"""The loop that routes and sends notifications, beside the scheduling loop; only the leader does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from hai_scheduler.core.notifying.occurrences import of_time
from hai_scheduler.ports.bus import Subscription
from hai_scheduler.ports.errors import Temporary, WriteConflict
from hai_scheduler.service.notifying.routing import Routing
from hai_scheduler.service.notifying.sending import Sending
from hai_scheduler.service.shared.topics import FEED
from hai_scheduler.service.shared.world import UseCase

log = logging.getLogger(__name__)

#: Seconds between two looks without a ring; and after each look, so that a flood of rings costs little.
LOOK_S: Final = 2.0
REST_S: Final = 0.25
#: Seconds between two looks at who waits for long, and whose GPUs are idle.
TIME_S: Final = 15.0
#: How long notifications are kept, seconds between two sweeps, and how many go in one transaction.
KEEP: Final = timedelta(days=7)
SWEEP_S: Final = 600.0
SWEPT: Final = 1000
#: Notifications that one look at the time writes; the next looks write the others.
MOST_BY_TIME: Final = 500


@dataclass(slots=True, eq=False)
class Notifier(UseCase):
    """Tells users what has happened."""

    routing: Routing
    sending: Sending
    #: Keys of what time has told, so that the store is not asked for them at each look.
    _known: frozenset[str] = frozenset()
    _time_at: float = field(default=0.0)
    _sweep_at: float = field(default=0.0)

    async def look(self) -> bool:
        """Route and send what there is; returns whether there may be more.

        Raises:
            Temporary: The store cannot be read or written now.
        """
        steady = self.clock.steady()
        if steady >= self._time_at:
            self._time_at = steady + TIME_S
            await self.tell_of_time()
        if steady >= self._sweep_at:
            self._sweep_at = steady + SWEEP_S
            await self.sweep()
        routed = await self.routing.route()
        return bool(await self.sending.send() or routed)

    async def tell_of_time(self) -> int:
        """Write what users are told because time has passed; returns how many notifications."""
        now = self.clock.now()
        async with self.store.read() as tx:
            rules = await tx.notifications.rules()
            found = {one.key: one for one in of_time(await tx.tasks.unfinished(), rules, now)}
            fresh = found.keys() - self._known
            if not fresh:
                self._known &= found.keys()
                return 0
        async with self.store.write() as tx:
            untold = sorted(fresh - await tx.notifications.told(fresh), key=lambda key: found[key].task_id or 0)
            await tx.notifications.add_all(found[key] for key in untold[:MOST_BY_TIME])
        self._known = frozenset(found.keys() - set(untold[MOST_BY_TIME:]))
        return len(untold[:MOST_BY_TIME])

    async def sweep(self) -> int:
        """Delete notifications that are older than `KEEP`; returns how many."""
        swept = 0
        while True:
            async with self.store.write() as tx:
                some = await tx.notifications.drop_before(self.clock.now() - KEEP, SWEPT)
            swept += some
            if some < SWEPT:
                return swept

    async def run(self, leads: Callable[[], bool]) -> None:
        """Look until cancelled, at each ring and every few seconds, while this replica leads."""
        async with self.bus.listen(FEED) as ears:
            try:
                while True:
                    more = leads() and await self._look_safely()
                    await self.clock.sleep(REST_S)
                    if not more:
                        await self._wait(ears)
            finally:
                await self.sending.end()

    async def _look_safely(self) -> bool:
        try:
            return await self.look()
        except (Temporary, WriteConflict) as error:
            log.warning("notifications wait for the database: %s", error)
        except Exception:  # looking again is all that can be done
            log.exception("sending notifications failed and is tried again")
        return False

    async def _wait(self, ears: Subscription) -> None:
        """Wait for a ring, for a channel that has become free, or for the time of the next look."""
        self.sending.freed.clear()
        ring, freed = asyncio.create_task(ears.wait(LOOK_S)), asyncio.create_task(self.sending.freed.wait())
        try:
            await asyncio.wait({ring, freed}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (ring, freed):
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
