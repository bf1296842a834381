"""Carries out what a committed change wants of the world. Everything is idempotent by run id, so repeating is safe."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hai_scheduler.core.lifecycle import Effect, Kill, Launch, Notify, Settle
from hai_scheduler.core.model import Node, Run
from hai_scheduler.ports import Bus, Cluster, NotFound, Store, Temporary
from hai_scheduler.ports import Launch as Order
from hai_scheduler.service.environment import Places, environment_of
from hai_scheduler.service.run_tokens import RunTokens

log = logging.getLogger(__name__)

#: Bus topics.
TICK = "tick"
FEED = "feed"


def run_topic(run_id: str) -> str:
    """What is rung when the notice of a run has changed."""
    return f"run:{run_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """The hands of the service."""

    store: Store
    cluster: Cluster
    bus: Bus
    tokens: RunTokens
    places: Places

    async def carry_out(self, effects: Iterable[Effect], *, nodes: Mapping[str, Node]) -> str | None:
        """Do all of them. What fails for now is wanted again by the next tick, so it is only logged.

        Returns:
            What stands in the way of one of them, if something does.
        """
        done = await asyncio.gather(*(self._one(effect, nodes) for effect in effects))
        return next((trouble for trouble in done if trouble is not None), None)

    async def _one(self, effect: Effect, nodes: Mapping[str, Node]) -> str | None:
        try:
            match effect:
                case Launch():
                    await self._launch(effect, nodes)
                case Notify():
                    await self.bus.ring(run_topic(effect.run_id))
                case Kill():
                    await self.cluster.kill(effect.run_id)
                case Settle():
                    await self.cluster.settle(effect.run_id)
        except (Temporary, NotFound, OSError) as error:
            log.warning("%s of run %s will be tried again: %s", type(effect).__name__, effect.run_id, error)
            return str(error)
        return None

    async def _launch(self, effect: Launch, nodes: Mapping[str, Node]) -> None:
        async with self.store.read() as tx:
            task = await tx.get_task(effect.task_id)
            spec = await tx.get_spec(effect.task_id)
        run = task.live_run
        if run is None or run.id != effect.run_id or run.notice is not None or run.killed_at is not None:
            return  # stopped meanwhile: it is not to start any more
        gpus = tuple(rank.gpus for rank in run.ranks)
        await self.cluster.launch(
            Order(
                run_id=run.id,
                task_id=task.id,
                user=task.user,
                nodes=run.nodes,
                gpus=gpus if any(gpus) else (),
                command=spec.command,
                cwd=spec.cwd,
                env=environment_of(task, run, spec, self.places, gpus_per_node=_gpus_per_node(run, nodes)),
                profile=task.profile.value,
                token=self.tokens.make(run.id),
                group=task.group,
                grace=task.grace,
            )
        )


def _gpus_per_node(run: Run, nodes: Mapping[str, Node]) -> int:
    """How many GPUs each of its ranks has: those that it was given, else all of the node's (U2)."""
    held = (len(rank.gpus) or nodes[rank.node].gpus for rank in run.ranks if rank.gpus or rank.node in nodes)
    return min(held, default=0)
