"""Carries out the effects of a committed change on the cluster. All are idempotent by run id, so repeating is safe."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from hai_scheduler.core.lifecycle.events import AskedToSuspend, StartFailed
from hai_scheduler.core.lifecycle.transitions import ClusterEffect, Finalize, Kill, Launch
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import RankState
from hai_scheduler.core.workspace.templates import Unresolvable
from hai_scheduler.ports.errors import Absent, Temporary
from hai_scheduler.service.launch.launch_orders import LaunchOrders, still_wanted
from hai_scheduler.service.launch.troubles import Troubles
from hai_scheduler.service.origin.orphan_registry import left_alone, read_orphans
from hai_scheduler.service.shared.changes import SCHEDULER, change
from hai_scheduler.service.shared.doorbell import ring_change
from hai_scheduler.service.shared.world import UseCase

log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Effects(UseCase):
    """Carries out effects: launches, kills and finalizes runs."""

    orders: LaunchOrders
    #: The latest failures to launch runs.
    troubles: Troubles = field(default_factory=Troubles)

    async def carry_out(self, effects: Iterable[ClusterEffect], *, nodes: Mapping[str, Node]) -> str | None:
        """Carry out all these effects. A failure is only logged: the next tick wants the effect again.

        Returns:
            The message of one of the failures; None if there is none.
        """
        done = await asyncio.gather(*(self._one(effect, nodes) for effect in effects))
        return next((trouble for trouble in done if trouble is not None), None)

    async def _one(self, effect: ClusterEffect, nodes: Mapping[str, Node]) -> str | None:
        try:
            match effect:
                case Launch():
                    if (waits := self.troubles.waits(effect.run_id, self.clock.now())) is not None:
                        return waits
                    await self._launch(effect, nodes)
                    self.troubles.clear(effect.run_id)
                case Kill() | Finalize():
                    self.troubles.clear(effect.run_id)
                    await self._end(effect)
        except (Temporary, Absent, OSError) as error:
            log.warning("%s of run %s will be tried again: %s", type(effect).__name__, effect.run_id, error)
            if isinstance(effect, Launch):
                self.troubles.note(effect.run_id, str(error), self.clock.now())
            return str(error)
        return None

    async def _end(self, effect: Kill | Finalize) -> None:
        """Kill or finalize a run, unless its id belongs to a run of another database, which only an admin ends."""
        async with self.store.read() as tx:
            theirs = left_alone(await read_orphans(tx))
        if effect.run_id in theirs:
            log.warning("run %s is left alone: it is not this database's, see `hai admin orphans`", effect.run_id)
        elif isinstance(effect, Kill):
            await self.cluster.kill(effect.run_id)
        else:
            await self.cluster.finalize(effect.run_id)

    async def _launch(self, effect: Launch, nodes: Mapping[str, Node]) -> None:
        try:
            order = await self.orders.order(effect, nodes)
        except Unresolvable as error:
            await self._cannot_start(effect, str(error))
            return
        if order is not None:
            await self.cluster.launch(order)

    async def _cannot_start(self, effect: Launch, why: str) -> None:
        """Record a start error that is no node's fault: an environment or a mount of the run cannot be resolved."""
        now = self.clock.now()
        async with self.store.write() as tx:
            task = await tx.tasks.get(effect.task_id)
            run = task.live_run
            if not still_wanted(run, effect):
                return
            if any(rank.state is not RankState.PENDING for rank in run.ranks):
                # Some ranks are up: the nodes are free when these have ended (B4).
                none = timedelta(0)
                left = AskedToSuspend(at=now, reason=Reason.START_FAILED, at_most=none, limit=none)
                await change(tx, task, left, actor=SCHEDULER)
            else:
                most = self.policies.of(task.group).max_failed_starts
                failed = StartFailed(at=now, message=why, nodes=frozenset(), give_up=task.failed_starts + 1 >= most)
                await change(tx, task, failed, actor=SCHEDULER)
        log.warning("run %s cannot be started: %s", effect.run_id, why)
        await ring_change(self.bus)
