"""The view of a process that does not lead: it plans as the leader does, and writes nothing.

A plan is a function of the store and the nodes, so this process finds the same plan as the leader: explanations,
forecasts and the list of nodes are the same on every process of the API.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import dataclass, field

from hai_scheduler.ports.errors import Temporary
from hai_scheduler.service.scheduling.planner import Planner
from hai_scheduler.service.scheduling.snapshot_reader import marked, snapshot_of
from hai_scheduler.service.shared.patient_read import end_read
from hai_scheduler.service.shared.topics import FEED, TICK
from hai_scheduler.service.shared.world import UseCase

log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Follower(UseCase):
    """Renews the view after rings, and when a reader finds it too old; takes a fifth of the time at most."""

    #: How old a view may be for a reader, in seconds: changes of nodes do not always ring.
    bearable: float = 2.0
    #: The shortest rest after a look, in seconds, and the least ratio of rest to look.
    rest: float = 0.5
    share: float = 4.0
    #: How long a reader waits for a look, in seconds; then they get the older view.
    patience: float = 2.0
    _planner: Planner = field(default_factory=Planner)
    #: When the latest look began, and the end of the rest after it, by `Clock.steady`.
    _looked_at: float | None = None
    _rests_until: float = 0.0
    #: The present look, if there is one.
    _looking: asyncio.Task[None] | None = None

    async def look(self) -> bool:
        """Renew the view unless this process leads; returns True if it was renewed. Raises Temporary."""
        if self.latest_plan.leading:
            return False
        began = time.perf_counter()
        with self.latest_plan.seeing():
            nodes = await self.cluster.nodes()
        async with self.store.read() as tx:
            policies = await self.policies.refresh(tx)
            tasks, uses, strikes = await tx.tasks.unfinished(), await tx.uses.all(), await tx.nodes.strikes()
            snapshot = await snapshot_of(tx, self.clock.now(), await marked(tx, nodes), tasks, uses, strikes)
        made = self._planner.plan(snapshot, policies)
        if self.latest_plan.leading:
            return False  # since a moment ago: the leader's own view is newer
        self.latest_plan.trouble, self.latest_plan.policy_trouble = None, self.policies.trouble
        self.latest_plan.plan_seconds = self._planner.seconds
        self.latest_plan.show(snapshot, policies, made.verdicts, seconds=time.perf_counter() - began)
        return True

    async def run(self) -> None:
        """Look after each ring, until cancelled."""
        try:
            async with self.bus.listen(TICK, FEED) as ears:
                while True:
                    await self._look_now()
                    await self.clock.sleep(self._rests_until - self.clock.steady())
                    await ears.wait(None if self.latest_plan.trouble is None else self.bearable)
        finally:
            await end_read(self._looking)

    async def asked(self, bearable: float | None = None) -> None:
        """Renew the view if it is older than `bearable` seconds and the rest after the last look is over.

        Args:
            bearable: How old the view may be, in seconds; None: `self.bearable`.
        """
        now, bearable = self.clock.steady(), self.bearable if bearable is None else bearable
        if self._looked_at is not None and (now - self._looked_at < bearable or now < self._rests_until):
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(self.patience):
                await self._look_now()

    async def _look_now(self) -> None:
        """Wait for one look, which all callers at the same time share."""
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
            self.latest_plan.trouble = str(error)
            log.warning("looking will be repeated: %s", error)
        except Exception as error:  # it must outlive any single look
            self.latest_plan.trouble = type(error).__name__
            log.exception("looking failed and will be repeated")
