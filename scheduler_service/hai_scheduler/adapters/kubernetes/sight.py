"""All that is seen of the cluster: nodes, and the runs with their pods."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from datetime import datetime
from typing import Final

from hai_scheduler.adapters.kubernetes.client import Api
from hai_scheduler.adapters.kubernetes.informer import Informer, Thing
from hai_scheduler.adapters.kubernetes.names import SELECTOR, pod_name, rank_of, run_name, run_of
from hai_scheduler.adapters.kubernetes.nodes import NodeReader
from hai_scheduler.adapters.kubernetes.ranks import keep_end
from hai_scheduler.adapters.kubernetes.record import Record, RunSight, runs_seen
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.core.model import Node, RunId
from hai_scheduler.ports import Clock, Temporary

Changed = Callable[[Thing | None, Thing | None], None]
Keep = Callable[[Thing, Thing], Thing]

#: How long the first look may take before whoever asks is told to try again.
FIRST_LOOK_S: Final = 15.0


class Sight:
    """Informers of nodes, Services and pods. Starts by itself when it is first needed."""

    def __init__(self, api: Api, clock: Clock, settings: ClusterSettings) -> None:
        self._clock = clock
        self._settings = settings
        self._reader = NodeReader(settings)
        inside = f"/api/v1/namespaces/{settings.namespace}"

        def informer(path: str, on_change: Changed, selector: str = "", keep: Keep = _take_new) -> Informer:
            return Informer(
                api,
                clock,
                path,
                selector=selector,
                watch_for=settings.watch_for,
                relist_every=settings.relist_every,
                on_change=on_change,
                keep=keep,
            )

        self.nodes = informer("/api/v1/nodes", self._node_changed)
        self.services = informer(f"{inside}/services", self._service_changed, SELECTOR)
        self.pods = informer(f"{inside}/pods", self._pod_changed, SELECTOR, keep_end)
        self._all = (self.nodes, self.services, self.pods)
        self._tasks: list[asyncio.Task[None]] = []
        self._closed = False
        self._listeners: set[asyncio.Event] = set()
        #: Pods that are gone, as they were last seen, while their run is recorded.
        self._removed: dict[RunId, dict[str, Thing]] = {}
        #: What the nodes were read as, by name.
        self._read: dict[str, Node | None] = {}

    async def ready(self) -> None:
        """Wait for the first look at everything. Raises Temporary when that takes too long."""
        if self._closed:
            raise Temporary("the cluster has been closed")
        if not self._tasks:
            self._tasks = [asyncio.create_task(informer.run()) for informer in self._all]
        try:
            async with asyncio.timeout(FIRST_LOOK_S):
                for informer in self._all:
                    await informer.listed()
        except TimeoutError:
            raise Temporary(self._away("the cluster has not been seen yet")) from None

    async def fresh(self) -> None:
        """See that what is seen is not too old to decide anything on. Raises Temporary."""
        await self.ready()
        if self.stale:
            limit = self._settings.stale_after.total_seconds()
            silent = f"nothing was heard of the Kubernetes API server for more than {limit:.0f} s (stale_after)"
            raise Temporary(self._away(silent))

    @property
    def stale(self) -> bool:
        """Whether the API server has not been heard of for too long."""
        since = min(informer.contact or datetime.min.replace(tzinfo=self._now().tzinfo) for informer in self._all)
        return self._now() - since > self._settings.stale_after

    def _now(self) -> datetime:
        return self._clock.now()

    def _away(self, what: str) -> str:
        trouble = next((informer.trouble for informer in self._all if informer.trouble), "")
        return f"{what}: {trouble}" if trouble else what

    def platform_nodes(self) -> list[Node]:
        """The nodes that are ours, by name."""
        return sorted((node for node in self._read.values() if node is not None), key=lambda node: node.name)

    def runs(self) -> dict[RunId, RunSight]:
        """Every run of which anything is left."""
        removed = (pod for pods in self._removed.values() for pod in pods.values())
        return runs_seen(self.services.items.values(), self.pods.items.values(), removed)

    def run(self, run_id: RunId) -> RunSight | None:
        """One run; None if nothing of it is left. Raises NotFound for what is no run's id."""
        service = self.services.items.get(run_name(run_id))
        if service is None or run_of(service) != run_id:
            pods: Iterable[Thing] = (pod for pod in self.pods.items.values() if run_of(pod) == run_id)
            return runs_seen((), pods, ()).get(run_id)
        names = (pod_name(run_id, rank) for rank in range(len(Record.read(service).nodes)))
        found = [self.pods.items[name] for name in names if name in self.pods.items]
        return runs_seen([service], found, self._removed.get(run_id, {}).values()).get(run_id)

    async def changes(self) -> AsyncIterator[None]:
        """Wake-ups. Raises Temporary when there is nothing to see."""
        event = asyncio.Event()
        self._listeners.add(event)
        try:
            await self.ready()
            while True:
                await event.wait()
                event.clear()
                yield
        finally:
            self._listeners.discard(event)

    def wake(self) -> None:
        """Something may have changed."""
        for event in self._listeners:
            event.set()

    def _node_changed(self, before: Thing | None, after: Thing | None) -> None:
        old = self._read.pop(before["metadata"]["name"], None) if before is not None else None
        new = self._reader.read(after) if after is not None else None
        if after is not None:
            self._read[after["metadata"]["name"]] = new
        # Heartbeats come often and say nothing.
        if old != new:
            self.wake()

    def _service_changed(self, before: Thing | None, after: Thing | None) -> None:
        run_id = run_of(before) if before is not None else None
        if after is None and run_id is not None:
            self._removed.pop(run_id, None)
        self.wake()

    def _pod_changed(self, before: Thing | None, after: Thing | None) -> None:
        if after is None and before is not None:
            run_id = run_of(before)
            if run_id is not None and rank_of(before) is not None and self._recorded(run_id):
                self._removed.setdefault(run_id, {})[before["metadata"]["name"]] = before
        self.wake()

    def _recorded(self, run_id: RunId) -> bool:
        return run_name(run_id) in self.services.items

    async def close(self) -> None:
        """Look no more."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        self._tasks = []


def _take_new(_: Thing, after: Thing) -> Thing:
    return after
