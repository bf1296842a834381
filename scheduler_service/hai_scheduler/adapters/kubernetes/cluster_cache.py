"""The cached view of the cluster: its nodes, and runs with their Services and pods."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from hai_scheduler.adapters.kubernetes.client import KubernetesApi
from hai_scheduler.adapters.kubernetes.informer import Informer, Thing
from hai_scheduler.adapters.kubernetes.names import SELECTOR, parts_of, rank_of, run_name, run_of
from hai_scheduler.adapters.kubernetes.nodes import NodeReader, not_ready_since
from hai_scheduler.adapters.kubernetes.ranks import evicted, keep_end
from hai_scheduler.adapters.kubernetes.record import RunObjects, runs_seen
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.node import Node
from hai_scheduler.ports.clock import Clock
from hai_scheduler.ports.errors import Temporary

Changed = Callable[[Thing | None, Thing | None], None]
Keep = Callable[[Thing, Thing], Thing]

#: How long the first list may take before callers get Temporary, in seconds.
FIRST_LOOK_S: Final = 15.0


class ClusterCache:
    """Informers of nodes, Services and pods. They start when they are first needed."""

    def __init__(self, api: KubernetesApi, clock: Clock, settings: ClusterSettings) -> None:
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
        #: The pods of each run, by name.
        self._pods_of: defaultdict[RunId, dict[str, Thing]] = defaultdict(dict)
        #: Pods that are gone, as they were last seen, while their run has a Service.
        self._removed: dict[RunId, dict[str, Thing]] = {}
        #: Runs as they were last assembled, and the ids of runs that have changed since.
        self._runs: dict[RunId, RunObjects] = {}
        self._stirred: set[RunId] = set()
        #: Kubernetes nodes as the platform's, by name; None: in no group.
        self._read: dict[str, Node | None] = {}
        #: Since when nodes are not ready, by name.
        self.unready: dict[str, datetime] = {}
        self._evictions = Evictions()

    async def ready(self) -> None:
        """Wait until all objects have been listed once. Raises Temporary when that takes too long."""
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
        """Check that the view is fresh enough to decide on. Raises Temporary if it is too old."""
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
        """Return the nodes of the platform, by name."""
        nodes = (self._evictions.closed(node, self._now()) for node in self._read.values() if node is not None)
        return sorted(nodes, key=lambda node: node.name)

    def runs(self) -> Mapping[RunId, RunObjects]:
        """Return every run of which anything is left. A run that has not changed is the same object as before."""
        while self._stirred:
            self._put_together(self._stirred.pop())
        return self._runs

    def run(self, run_id: RunId) -> RunObjects | None:
        """Return one run; None if nothing of it is left. Raises Absent for a malformed id."""
        parts_of(run_id)
        if run_id in self._stirred:
            self._stirred.discard(run_id)
            self._put_together(run_id)
        return self._runs.get(run_id)

    def _put_together(self, run_id: RunId) -> None:
        service = self.services.items.get(run_name(run_id))
        services = [service] if service is not None and run_of(service) == run_id else []
        removed = self._removed.get(run_id, {}).values()
        seen = runs_seen(services, self._pods_of[run_id].values(), removed).get(run_id)
        if not self._pods_of[run_id]:
            del self._pods_of[run_id]
        if seen is None:
            self._runs.pop(run_id, None)
        else:
            self._runs[run_id] = seen

    async def changes(self) -> AsyncIterator[None]:
        """Yield when something may have changed. Raises Temporary if the first list takes too long."""
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
        """Wake the listeners of `changes`: something may have changed."""
        for event in self._listeners:
            event.set()

    def _node_changed(self, before: Thing | None, after: Thing | None) -> None:
        old = self._read.pop(before["metadata"]["name"], None) if before is not None else None
        new = self._reader.read(after) if after is not None else None
        if before is not None:
            self.unready.pop(before["metadata"]["name"], None)
        if after is not None:
            self._read[after["metadata"]["name"]] = new
            if (since := not_ready_since(after)) is not None:
                self.unready[after["metadata"]["name"]] = since
        # Heartbeats come often and say nothing.
        if old != new:
            self.wake()

    def _service_changed(self, before: Thing | None, after: Thing | None) -> None:
        for service in (before, after):
            if service is not None and (run_id := run_of(service)) is not None:
                self._stirred.add(run_id)
                if after is None:
                    self._removed.pop(run_id, None)
        self.wake()

    def _pod_changed(self, before: Thing | None, after: Thing | None) -> None:
        if before is not None and (run_id := run_of(before)) is not None:
            name = before["metadata"]["name"]
            self._pods_of[run_id].pop(name, None)
            self._stirred.add(run_id)
            if after is None and rank_of(before) is not None and self._recorded(run_id):
                self._removed.setdefault(run_id, {})[name] = before
        if after is not None and (run_id := run_of(after)) is not None:
            self._pods_of[run_id][after["metadata"]["name"]] = after
            self._stirred.add(run_id)
            if (words := evicted(after)) and not (before and evicted(before)):
                self._evictions.note(after["spec"]["nodeName"], words, self._now())
        self.wake()

    def _recorded(self, run_id: RunId) -> bool:
        return run_name(run_id) in self.services.items

    async def close(self) -> None:
        """Stop the informers."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        self._tasks = []


def _take_new(_: Thing, after: Thing) -> Thing:
    return after


#: A kubelet tells the API server of a pressure with its next status, by default every 10 s, and then the node gets a
#: taint, which stays for 5 min. A gang that started in between would go where its last run had no room.
CLOSED_FOR: Final = timedelta(minutes=1)


class Evictions:
    """The latest eviction on each node, in the kubelet's words."""

    def __init__(self) -> None:
        self._latest: dict[str, tuple[datetime, str]] = {}

    def note(self, node: str, words: str, now: datetime) -> None:
        """Take note of an eviction."""
        self._latest[node] = (now, words)

    def closed(self, node: Node, now: datetime) -> Node:
        """Return the node, closed if its kubelet has just evicted a rank."""
        at, words = self._latest.get(node.name, (None, ""))
        if at is None:
            return node
        if now - at >= CLOSED_FOR:
            del self._latest[node.name]
            return node
        why = f"it has just evicted a rank ({words.rstrip('.')})"
        return replace(node, closed=True, message="; ".join(filter(None, (node.message, why))))
