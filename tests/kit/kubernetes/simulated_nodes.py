"""Nodes without a kubelet on a real API server: they are ready, and a test plays the kubelets of their pods.

Only the machines are simulated: the API server, its scheduler and every object are real. `kwok` does the same and more.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Self

from hai_scheduler.adapters.kubernetes.client import ApiRefused, Exists, Expired, KubernetesApi, Missing
from hai_scheduler.ports.errors import Temporary

#: Requests under way at once, for pods and for heartbeats each.
AT_ONCE = 16
#: Seconds until a request is tried again for which the API server was too busy.
AGAIN_S = 0.1
#: Seconds between two heartbeats of a kubelet.
BEAT_S = 10.0
CAPACITY = {"cpu": "128", "memory": "512Gi", "pods": "110"}
NODES = "/api/v1/nodes"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"

Thing = dict[str, Any]


def now() -> str:
    """The time of day as the API server writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _renewal() -> Thing:
    return {"renewTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")}


def path_of(pod: Thing) -> str:
    """The path of a pod in the API."""
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


class SimulatedNodes(ABC):
    """Nodes by name, each with its labels. A subclass plays their pods in `take_pod`."""

    def __init__(
        self,
        api: KubernetesApi,
        nodes: Mapping[str, Mapping[str, str]],
        *,
        marked: str,
        gpus: int = 8,
        resource: str = "nvidia.com/gpu",
        taints: tuple[Thing, ...] = (),
    ) -> None:
        """`marked` is the label selector that finds these nodes among all others."""
        self.api = api
        self._nodes = nodes
        self._marked = marked
        self._have = {**CAPACITY, resource: str(gpus)}
        self._taints = [dict(taint) for taint in taints]
        self._limit = asyncio.Semaphore(AT_ONCE)
        self._jobs: set[asyncio.Task[None]] = set()
        self._failed: list[Exception] = []

    @abstractmethod
    def take_pod(self, kind: str, pod: Thing) -> None:
        """Take in that a pod on one of these nodes was added, modified or deleted."""

    @contextlib.asynccontextmanager
    async def up(self) -> AsyncIterator[Self]:
        """A context in which the nodes exist and their kubelets are played. Its end raises errors of the play."""
        await self._for_all(self._create, self._limit)
        what = (self._renew(), self._watch("/api/v1/pods", {"fieldSelector": "spec.nodeName!="}, self._take_pod))
        mine: dict[str, str | int] = {"labelSelector": self._marked}
        kubelets = [asyncio.create_task(work) for work in (*what, self._watch(NODES, mine, self._take_node))]
        try:
            yield self
        finally:
            for task in (*kubelets, *self._jobs):
                task.cancel()
            await asyncio.gather(*kubelets, *self._jobs, return_exceptions=True)
            await self._for_all(self._remove, self._limit)
        if self._failed:
            raise ExceptionGroup("a simulated kubelet failed", self._failed)

    # -- requests -----------------------------------------------------------------------------------------

    def start(self, work: Awaitable[object]) -> None:
        """Run `work` in the background."""
        job = asyncio.create_task(_quietly(work))
        self._jobs.add(job)
        job.add_done_callback(self._done)

    def _done(self, job: asyncio.Task[None]) -> None:
        self._jobs.discard(job)
        if not job.cancelled() and isinstance(error := job.exception(), Exception):
            self._failed.append(error)

    async def show(self, pod: Thing, status: Thing) -> None:
        """Write a status of a pod."""
        await self._insist("PATCH", f"{path_of(pod)}/status", {"status": status})

    async def confirm(self, pod: Thing) -> None:
        """Let a deleted pod vanish, as a kubelet does when the pod has ended."""
        only = {"uid": pod["metadata"]["uid"]}
        await self._insist("DELETE", path_of(pod), {"gracePeriodSeconds": 0, "preconditions": only})

    async def _insist(self, method: str, path: str, body: Thing) -> None:
        """Send a request until the API server is not too busy for it, as kubelets do: else a pod would never vanish."""
        while True:
            with contextlib.suppress(Temporary):
                async with self._limit:
                    await self.api.request(method, path, body=body)
                return
            await asyncio.sleep(AGAIN_S)

    async def _for_all(self, do: Callable[[str], Awaitable[None]], limit: asyncio.Semaphore) -> None:
        async def one(name: str) -> None:
            async with limit:
                await _quietly(do(name))

        await asyncio.gather(*(one(name) for name in self._nodes))

    # -- nodes --------------------------------------------------------------------------------------------

    async def _create(self, name: str) -> None:
        body = {"metadata": {"name": name, "labels": dict(self._nodes[name])}, "spec": {"taints": self._taints}}
        with contextlib.suppress(Exists):  # the node is left from a run that was cut short
            await self.api.request("POST", NODES, body=body)
        await self._is_well(name, {"capacity": self._have, "allocatable": self._have})
        lease = {"holderIdentity": name, "leaseDurationSeconds": 40, **_renewal()}
        await self.api.request("POST", LEASES, body={"metadata": {"name": name}, "spec": lease})

    async def _is_well(self, name: str, more: Thing) -> None:
        ready = {"type": "Ready", "status": "True", "reason": "Simulated", "lastHeartbeatTime": now()}
        status = {**more, "conditions": [{**ready, "lastTransitionTime": now()}]}
        await self.api.request("PATCH", f"{NODES}/{name}/status", body={"status": status})

    async def _remove(self, name: str) -> None:
        await self.api.request("DELETE", f"{NODES}/{name}")
        await self.api.request("DELETE", f"{LEASES}/{name}")

    async def _renew(self) -> None:
        limit = asyncio.Semaphore(AT_ONCE)
        while True:
            began = time.monotonic()
            await self._for_all(self._beat, limit)
            await asyncio.sleep(max(0.0, began + BEAT_S - time.monotonic()))

    async def _beat(self, name: str) -> None:
        await self.api.request("PATCH", f"{LEASES}/{name}", body={"spec": _renewal()})

    # -- what happens -------------------------------------------------------------------------------------

    async def _watch(self, path: str, query: dict[str, str | int], take: Callable[[str, Thing], None]) -> None:
        while True:
            with contextlib.suppress(Temporary, Expired):
                async for event in self.api.watch(path, query=query, seconds=300):
                    if event and event["type"] != "BOOKMARK":
                        take(event["type"], event["object"])

    def _take_node(self, kind: str, node: Thing) -> None:
        """Remove what a late heartbeat has led to: the node controller does not do that by itself."""
        ready = [one["status"] for one in node["status"].get("conditions", []) if one["type"] == "Ready"]
        if kind != "DELETED" and ready == ["Unknown"]:
            self.start(self._revive(node["metadata"]["name"]))

    async def _revive(self, name: str) -> None:
        async with self._limit:
            await self._is_well(name, {})

    def _take_pod(self, kind: str, pod: Thing) -> None:
        if pod["spec"].get("nodeName") in self._nodes:
            self.take_pod(kind, pod)


async def _quietly(work: Awaitable[object]) -> None:
    """Await `work` without errors: an object may exist or be gone already, and the next heartbeat tries again."""
    with contextlib.suppress(Exists, Missing, ApiRefused, Temporary):
        await work
