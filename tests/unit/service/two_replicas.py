"""Two services on one store, one cluster and one bus, in virtual time; each may be paused, crash, or lose the store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

from hai_scheduler.adapters.system.local_bus import MemoryBus
from hai_scheduler.api.server.platform import Platform
from hai_scheduler.app.loop import SchedulingLoop
from hai_scheduler.core.model.policy import Policies
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task
from hai_scheduler.ports.errors import Temporary, WriteConflict
from hai_scheduler.service.shared.changes import SCHEDULER
from hai_scheduler.service.shared.settings import ServiceSettings
from kit.builders import some_nodes
from kit.memory.behaviour import Behaviour
from kit.memory.clock import VirtualClock
from kit.memory.cluster import MemoryCluster, notices_of
from kit.memory.store import MemoryStore
from kit.memory.transaction import MemoryTx
from kit.worlds import TOKENS, make_world
from unit.service.service_world import SHORT


class Gate:
    """Pauses a replica at the place that comes after `left` others, until `open` is called."""

    def __init__(self) -> None:
        self.left: int | None = None
        self.reached = asyncio.Event()
        self._go = asyncio.Event()

    async def place(self) -> None:
        """Pass one place, or wait there until the gate opens."""
        if self.left is None:
            return
        self.left -= 1
        if self.left < 0:
            self.left = None
            self._go.clear()
            self.reached.set()
            await self._go.wait()

    def open(self) -> None:
        """Let the replica go on."""
        self.left = None
        self.reached.clear()
        self._go.set()


class ReplicasStore:
    """The store as one replica uses it. Only the holder of the lease may write what the scheduler writes."""

    def __init__(self, inner: MemoryStore, holder: str, gate: Gate) -> None:
        self._inner, self._holder, self._gate = inner, holder, gate
        #: How the next transactions fail: `before`, `at` or `after` their commit.
        self.failures: list[str] = []
        self.read = inner.read
        self.close = inner.close
        self.logs, self.series = inner.logs, inner.series

    @asynccontextmanager
    async def write(self) -> AsyncIterator[MemoryTx]:
        await self._gate.place()
        fails = self.failures.pop() if self.failures else None
        if fails == "before":
            raise Temporary("the database is away")
        async with self._inner.write() as tx:
            before = tx.state.last_event
            yield tx
            for event in await tx.events.page(after=before, limit=1000):
                if event.actor == SCHEDULER:
                    assert tx.state.lease.holder == self._holder, f"{self._holder} wrote {event} without the lease"
            if fails == "at":
                raise Temporary("the database went away")
        if fails == "after":
            raise Temporary("the database went away, at an unknown moment")
        await self._gate.place()


class ReplicasCluster:
    """The cluster as one replica uses it."""

    def __init__(self, inner: MemoryCluster, gate: Gate) -> None:
        self._inner, self._gate = inner, gate
        # Each call may come late: a replica may be paused before it, while the other replica acts.
        for name in ("nodes", "observe", "launch", "kill"):
            setattr(self, name, self._gated(getattr(inner, name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def _gated(self, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def gated(*given: Any) -> Any:
            await self._gate.place()
            result = await call(*given)
            await self._gate.place()
            return result

        return gated


class Replica:
    """A service, at rest or in the middle of a tick."""

    def __init__(self, holder: str, pair: Pair, ahead: float = 0.0) -> None:
        self.holder = holder
        self.gate = Gate()
        self.store = ReplicasStore(pair.store, holder, self.gate)
        self.clock = SkewedClock(pair.clock, ahead)
        world = make_world(
            store=self.store,
            cluster=ReplicasCluster(pair.cluster, self.gate),
            bus=pair.bus,
            clock=self.clock,
            settings=ServiceSettings(policy=Policies(default=SHORT)),
            holder=holder,
        )
        self.loop, self.platform = SchedulingLoop(world, TOKENS), Platform(world)
        self._ticking: asyncio.Task[bool] | None = None

    @property
    def paused(self) -> bool:
        return self._ticking is not None

    async def tick(self) -> bool:
        """Tick; returns whether the tick was done as leader. Errors of the store count as False."""
        try:
            return await self.loop.cycle.tick()
        except (Temporary, WriteConflict):
            return False

    async def tick_and_pause(self, places: int) -> None:
        """Tick, and pause at the place that comes after `places` others; a tick with fewer places ends."""
        self.gate.left = places
        self._ticking = asyncio.create_task(self.tick())
        reached = asyncio.create_task(self.gate.reached.wait())
        await asyncio.wait({self._ticking, reached}, return_when=asyncio.FIRST_COMPLETED)
        reached.cancel()
        if self._ticking.done():
            await self.go_on()

    async def go_on(self) -> None:
        """Finish the tick."""
        self.gate.open()
        ticking, self._ticking = self._ticking, None
        if ticking is not None:
            await ticking

    async def die(self) -> None:
        """Drop the paused tick, as the death of the process does."""
        ticking, self._ticking = self._ticking, None
        if ticking is not None:
            ticking.cancel()
            await asyncio.gather(ticking, return_exceptions=True)
        await self.loop.cycle.launching.abandon()


class SkewedClock:
    """A clock with the right speed and another time, as on another machine."""

    def __init__(self, inner: VirtualClock, ahead: float) -> None:
        self._inner, self._ahead = inner, ahead
        self.sleep = inner.sleep
        self.steady = inner.steady

    def now(self) -> datetime:
        return self._inner.now() + timedelta(seconds=self._ahead)


class Pair:
    """Two replicas in one world."""

    def __init__(self, nodes: int = 3, ahead: float = 0.0) -> None:
        self.clock = VirtualClock()
        self.store = MemoryStore()
        # A submission whose answer was lost has no script.
        default = Behaviour(work=timedelta(seconds=30))
        self.cluster = MemoryCluster(self.clock, some_nodes(nodes), behaviour=default, notices=notices_of(self.store))
        self.bus = MemoryBus(self.clock)
        self._ahead = ahead
        self._made = 0
        self.replicas = [self._replica(0), self._replica(1)]

    def _replica(self, which: int) -> Replica:
        self._made += 1
        return Replica(f"holder-{self._made}", self, ahead=self._ahead if which else 0.0)

    async def open(self) -> Pair:
        """Write quota for all users, and let both replicas look once; the first replica leads. Returns the pair."""
        async with self.store.write() as tx:
            for level in Priority:
                await tx.quotas.put(Quota(subject="public", group="training", priority=level, limit=None))
        await self.replicas[0].loop.cycle.tick()
        await self.replicas[1].platform.follower.look()
        return self

    async def restart(self, which: int) -> None:
        """Let the process die where it is, and start another one in its place."""
        await self.replicas[which].die()
        self.replicas[which] = self._replica(which)

    async def tasks(self) -> list[Task]:
        async with self.store.read() as tx:
            return list(await tx.tasks.unfinished())

    async def runs(self, task: Task) -> list[Run]:
        async with self.store.read() as tx:
            return list(await tx.runs.of_task(task.id))
