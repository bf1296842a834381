"""The view of a process that does not lead: it plans as the leader does, and writes nothing.

A plan is a function of what is in the store and on the nodes, so what this process finds out of them is what the
leader finds: explanations, forecasts and the list of nodes are the same on every process of the API.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import dataclass, field

from hai_scheduler.ports.bus import Bus
from hai_scheduler.ports.clock import Clock
from hai_scheduler.ports.cluster import Cluster
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.store import Store
from hai_scheduler.service.policy.book import PolicyBook
from hai_scheduler.service.scheduling.planner import Planner
from hai_scheduler.service.scheduling.world import marked, snapshot_of
from hai_scheduler.service.shared.topics import FEED, TICK
from hai_scheduler.service.shared.watch import Watch

log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Following:
    """Looks when it is rung for, and when somebody asks after a while without rings; a fifth of the time at most."""

    store: Store
    cluster: Cluster
    bus: Bus
    clock: Clock
    policies: PolicyBook
    watch: Watch
    #: How old a view may be for somebody who asks, in seconds: what changes nodes does not always ring.
    bearable: float = 2.0
    #: Shortest rest after a look, in seconds, and how many times as long as the look it is at least.
    rest: float = 0.5
    share: float = 4.0
    #: How long somebody who asks waits for the look, in seconds; then he gets the view that there is.
    patience: float = 2.0
    _planner: Planner = field(default_factory=Planner)
    #: When the latest look began, and until when to rest after it, by the clock that nobody sets.
    _looked_at: float | None = None
    _rests_until: float = 0.0
    #: The look that is under way.
    _looking: asyncio.Task[None] | None = None

    async def look(self) -> bool:
        """Renew the view, unless this process leads; whether it did. Raises Temporary."""
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
        """Look for ever, after rings."""
        try:
            async with self.bus.listen(TICK, FEED) as ears:
                while True:
                    await self._look_now()
                    await self.clock.sleep(self._rests_until - self.clock.steady())
                    await ears.wait(None if self.watch.trouble is None else self.bearable)
        finally:
            if self._looking is not None:
                self._looking.cancel()

    async def asked(self, bearable: float | None = None) -> None:
        """Somebody wants the view: look if it is too old for him, unless the rest after the last look is not over."""
        now, bearable = self.clock.steady(), self.bearable if bearable is None else bearable
        if self._looked_at is not None and (now - self._looked_at < bearable or now < self._rests_until):
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(self.patience):
                await self._look_now()

    async def _look_now(self) -> None:
        """One look, shared by all who want it now."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look_and_rest())
        await asyncio.shield(self._looking)

    async def _look_and_rest(self) -> None:
        began = self.clock.steady()
        await self._look_safely()
        took = self.clock.steady() - began
        self._looked_at = began
        self._rests_until = began + took + max(self.rest, self.share * took)

    async def _look_safely(self) -> None:
        try:
            await self.look()
        except Temporary as error:
            self.watch.trouble = str(error)
            log.warning("looking will be repeated: %s", error)
        except Exception as error:  # it must outlive any single look
            self.watch.trouble = type(error).__name__
            log.exception("looking failed and will be repeated")
