"""The view of a replica that does not lead: it plans as the leader does, and writes nothing.

A plan is a function of what is in the store and on the nodes, so what this replica finds out of them is what the
leader finds: explanations, forecasts and the list of nodes are the same on every replica.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field

from hai_scheduler.ports import Bus, Clock, Cluster, Store, Temporary
from hai_scheduler.service.effects import FEED, TICK
from hai_scheduler.service.planner import Planner
from hai_scheduler.service.policy_book import PolicyBook
from hai_scheduler.service.watch import Watch
from hai_scheduler.service.world import marked, snapshot_of

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """The loop beside the scheduler's, at work while another replica leads."""

    store: Store
    cluster: Cluster
    bus: Bus
    clock: Clock
    policies: PolicyBook
    watch: Watch
    #: Longest time between two looks, in seconds; rings make it shorter.
    look_every: float = 5.0
    #: Shortest time between two looks, in seconds.
    rest: float = 0.5
    _planner: Planner = field(default_factory=Planner)

    async def look(self) -> bool:
        """Renew the view, unless this replica leads; whether it did. Raises Temporary."""
        if self.watch.leading:
            return False
        began = time.perf_counter()
        with self.watch.seeing():
            nodes = await self.cluster.nodes()
        async with self.store.read() as tx:
            policies = await self.policies.refresh(tx)
            tasks, uses, strikes = await tx.unfinished_tasks(), await tx.uses(), await tx.strikes()
            snapshot = await snapshot_of(tx, self.clock.now(), await marked(tx, nodes), tasks, uses, strikes)
        made = self._planner.plan(snapshot, policies)
        if self.watch.leading:
            return False  # since a moment ago: the leader's own view is newer
        self.watch.trouble, self.watch.policy_trouble = None, self.policies.trouble
        self.watch.plan_seconds = self._planner.seconds
        self.watch.show(snapshot, policies, made.verdicts, seconds=time.perf_counter() - began)
        return True

    async def run(self) -> None:
        """Look for ever: after rings, and from time to time. It takes a fifth of the process at most."""
        async with self.bus.listen(TICK, FEED) as ears:
            while True:
                if await self._look_safely():
                    await self.clock.sleep(max(self.rest, 4 * self.watch.tick_seconds))
                await ears.wait(self.look_every)

    async def _look_safely(self) -> bool:
        try:
            return await self.look()
        except Temporary as error:
            self.watch.trouble = str(error)
            log.warning("looking will be repeated: %s", error)
        except Exception as error:  # it must outlive any single look
            self.watch.trouble = type(error).__name__
            log.exception("looking failed and will be repeated")
        return False
