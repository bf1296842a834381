"""The cached view of the cluster: its nodes, and runs with their Services and pods."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import datetime
from typing import Any, Final

from hai_scheduler.adapters.kubernetes.blame import has_no_room
from hai_scheduler.adapters.kubernetes.client import KubernetesApi
from hai_scheduler.adapters.kubernetes.foreign_pods import ON_NODES, paths
from hai_scheduler.adapters.kubernetes.informer import Informer, Thing
from hai_scheduler.adapters.kubernetes.names import SELECTOR, parts_of, rank_of, run_name, run_of
from hai_scheduler.adapters.kubernetes.pod_status import has_ended
from hai_scheduler.adapters.kubernetes.ranks import evicted, is_rejected, keep_end
from hai_scheduler.adapters.kubernetes.record import Record, RunObjects, StartError, runs_seen
from hai_scheduler.adapters.kubernetes.resources import gpus_asked
from hai_scheduler.adapters.kubernetes.seen_nodes import SeenNodes
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.node import Node
from hai_scheduler.ports.clock import Clock
from hai_scheduler.ports.errors import Temporary

log = logging.getLogger(__name__)

Changed = Callable[[Thing | None, Thing | None], None]

#: How long the first list may take before callers get Temporary, in seconds.
FIRST_LOOK_S: Final = 15.0
#: Pods from outside of HAI may be many: they are listed in small pages, between which ticks have their turn, and again
#: less often than other objects, by this factor.
_FOREIGN_PAGE: Final = 100
_FOREIGN_RELIST: Final = 6


class ClusterCache:
    """Informers of nodes, Services and pods. They start when they are first needed."""

    def __init__(self, api: KubernetesApi, clock: Clock, settings: ClusterSettings) -> None:
        self._clock = clock
        self._settings = settings
        self._seen = SeenNodes(settings, self.wake)
        inside = f"/api/v1/namespaces/{settings.namespace}"

        def informer(path: str, on_change: Changed, selector: str = "", **more: Any) -> Informer:
            chosen = {"keep": _take_new, "relist_every": settings.relist_every, **more}
            return Informer(
                api, clock, path, selector=selector, watch_for=settings.watch_for, on_change=on_change, **chosen
            )

        self.nodes = informer("/api/v1/nodes", self._seen.changed)
        self.services = informer(f"{inside}/services", self._service_changed, SELECTOR)
        self.pods = informer(f"{inside}/pods", self._pod_changed, SELECTOR, keep=keep_end)
        self._all = (self.nodes, self.services, self.pods)
        small: dict[str, Any] = {
            "fields": ON_NODES,
            "slim": self._seen.foreign.slim,
            "page": _FOREIGN_PAGE,
            "relist_every": _FOREIGN_RELIST * settings.relist_every,
        }
        #: Nothing waits for these for long: what they do not show yet is met when a run starts there.
        self._others = [informer(path, self._seen.foreign.changed, **small) for path in paths(settings)]
        self._others_awaited = not self._others
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
        #: Since when nodes are not ready, by name.
        self.unready = self._seen.unready

    async def ready(self) -> None:
        """Wait until all objects have been listed once. Raises Temporary when that takes too long."""
        if self._closed:
            raise Temporary("the cluster has been closed")
        if not self._tasks:
            self._tasks = [asyncio.create_task(informer.run()) for informer in (*self._all, *self._others)]
        try:
            async with asyncio.timeout(FIRST_LOOK_S):
                for informer in self._all:
                    await informer.listed()
        except TimeoutError:
            raise Temporary(self._away("the cluster has not been seen yet")) from None
        if not self._others_awaited:
            await self._await_others()

    async def _await_others(self) -> None:
        """Wait once, and for a while at most, until the pods from outside of HAI have been listed."""
        try:
            async with asyncio.timeout(FIRST_LOOK_S):
                for informer in self._others:
                    await informer.listed()
        except TimeoutError:
            log.warning("pods from outside of HAI are not counted before they have been listed once")
        self._others_awaited = True

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
        return self._seen.all(self._now())

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

    def _service_changed(self, before: Thing | None, after: Thing | None) -> None:
        if after is not None and (error := StartError.of(after)) and error.crowded and not StartError.of(before):
            self._note_crowded(after, error)
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
                self._seen.evictions.note(after["spec"]["nodeName"], words, self._now())
            if is_rejected(after) and has_no_room(after) and not (before and is_rejected(before)):
                self._found_no_room(after["spec"]["nodeName"], after)
            self._seen.foreign.saw_rank(after)
        self.wake()

    def _note_crowded(self, service: Thing, error: StartError) -> None:
        """Note the nodes on which ranks of a run have found no room."""
        nodes, run_id = Record.read(service).nodes, run_of(service)
        pods = {} if run_id is None else {rank_of(pod): pod for pod in self._pods_of[run_id].values()}
        for rank in error.ranks:
            if rank < len(nodes):
                self._found_no_room(nodes[rank], pods.get(rank))

    def _found_no_room(self, node: str, pod: Thing | None) -> None:
        """Note that a pod has found no room on a node; None: a pod that is not known any more."""
        gpus = self._settings.gpu_resources
        there = [
            other
            for other in self.pods.items.values()
            if other is not pod and other["spec"].get("nodeName") == node and not has_ended(other)
        ]
        beside = sum(gpus_asked(other, gpus) for other in there)
        wanted = None if pod is None else gpus_asked(pod, gpus) or None
        self._seen.crowds.note(node, self._now(), beside=beside, gpus=wanted)

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
