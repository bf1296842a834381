"""Nodes without a kubelet on a real API server: what is bound to them is marked as running, deletions are confirmed.

Only the machines are pretended: the API server, its scheduler and every object are real. `kwok` does the same and more.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from hai_scheduler.adapters.kubernetes.client import Api, Exists, Expired, Missing, Refused, connect
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.adapters.memory.clock import SystemClock
from hai_scheduler.ports import Temporary

LABEL = "hai.jupyter.org/bench"
PREFIX = "bench-"
PER_LEAF = 20
#: Requests under way at once, for pods and for signs of life each.
AT_ONCE = 16
#: Kubelets show that they live every 10 seconds.
BEAT_S = 10.0
CAPACITY = {"cpu": "128", "memory": "512Gi", "pods": "110"}
NODES = "/api/v1/nodes"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"

Thing = dict[str, Any]


def name_of(number: int) -> str:
    """The name of a node."""
    return f"{PREFIX}{number:05d}"


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _renewal() -> Thing:
    return {"renewTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")}


@dataclass(slots=True)
class FakeNodes:
    """So many nodes of one group."""

    api: Api
    count: int
    group: str
    gpus: int = 8
    resource: str = "nvidia.com/gpu"
    _seen: set[tuple[str, str]] = field(default_factory=set)
    _limit: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    _jobs: set[asyncio.Task[None]] = field(default_factory=set)

    @contextlib.asynccontextmanager
    async def up(self) -> AsyncIterator[FakeNodes]:
        """Create them, play their kubelets, remove them again."""
        await self._for_all(self._create, self._limit)
        what = (self._renew(), self._watch("/api/v1/pods", {"fieldSelector": "spec.nodeName!="}, self._take_pod))
        mine = {"labelSelector": f"{LABEL}=node"}
        kubelets = [asyncio.create_task(work) for work in (*what, self._watch(NODES, mine, self._take_node))]
        try:
            yield self
        finally:
            for task in kubelets:
                task.cancel()
            await asyncio.gather(*kubelets, return_exceptions=True)
            await self._for_all(self._remove, self._limit)

    async def _for_all(self, do: Callable[[str], Awaitable[None]], limit: asyncio.Semaphore) -> None:
        await asyncio.gather(*(self._quietly(do(name_of(number)), limit) for number in range(self.count)))

    async def _quietly(self, work: Awaitable[object], limit: asyncio.Semaphore) -> None:
        """What is there, or gone, already is as it should be; the rest is tried again with the next sign of life."""
        async with limit:
            with contextlib.suppress(Exists, Missing, Refused, Temporary):
                await work

    async def _create(self, name: str) -> None:
        number = int(name.removeprefix(PREFIX))
        labels = {
            LABEL: "node",
            "hai.jupyter.org/group": self.group,
            "hai.jupyter.org/leaf": f"leaf-{number // PER_LEAF:03d}",
            "topology.kubernetes.io/zone": "zone-a",
            "kubernetes.io/hostname": name,
        }
        with contextlib.suppress(Exists):  # it is there from a run that was cut short
            await self.api.request("POST", NODES, body={"metadata": {"name": name, "labels": labels}})
        have = {**CAPACITY, self.resource: str(self.gpus)}
        await self._is_well(name, {"capacity": have, "allocatable": have})
        lease = {"holderIdentity": name, "leaseDurationSeconds": 40, **_renewal()}
        await self.api.request("POST", LEASES, body={"metadata": {"name": name}, "spec": lease})

    async def _is_well(self, name: str, more: Thing) -> None:
        ready = {"type": "Ready", "status": "True", "reason": "Bench", "lastHeartbeatTime": _now()}
        status = {**more, "conditions": [{**ready, "lastTransitionTime": _now()}]}
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

    async def _watch(self, path: str, query: dict[str, str | int], take: Callable[[str, Thing], None]) -> None:
        while True:
            with contextlib.suppress(Temporary, Expired):
                async for event in self.api.watch(path, query=query, seconds=300):
                    if event and event["type"] != "BOOKMARK":
                        take(event["type"], event["object"])

    def _take_node(self, kind: str, node: Thing) -> None:
        """A sign of life that came late: the node controller does not put it right by itself."""
        ready = [one["status"] for one in node["status"].get("conditions", []) if one["type"] == "Ready"]
        if kind != "DELETED" and ready == ["Unknown"]:
            self._start(self._is_well(node["metadata"]["name"], {}))

    def _take_pod(self, kind: str, pod: Thing) -> None:
        meta = pod["metadata"]
        if kind == "DELETED" or not pod["spec"].get("nodeName", "").startswith(PREFIX):
            return
        what = "delete" if meta.get("deletionTimestamp") else "run"
        if (meta["uid"], what) not in self._seen:
            self._seen.add((meta["uid"], what))
            path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
            self._start(self._delete(path) if what == "delete" else self._run(path, pod))

    def _start(self, work: Awaitable[object]) -> None:
        job = asyncio.create_task(self._quietly(work, self._limit))
        self._jobs.add(job)
        job.add_done_callback(self._jobs.discard)

    async def _run(self, path: str, pod: Thing) -> None:
        up = {"ready": True, "restartCount": 0, "image": "bench", "imageID": "", "started": True}
        status = {
            "phase": "Running",
            "podIP": "192.0.2.1",
            "startTime": _now(),
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": _now()}],
            "containerStatuses": [
                {**up, "name": one["name"], "state": {"running": {"startedAt": _now()}}}
                for one in pod["spec"]["containers"]
            ],
        }
        await self.api.request("PATCH", f"{path}/status", body={"status": status})

    async def _delete(self, path: str) -> None:
        await self.api.request("DELETE", path, body={"gracePeriodSeconds": 0})


async def _main(count: int, group: str) -> None:
    settings = ClusterSettings(namespace="default", api_url="", parallel=3 * AT_ONCE)
    api = Api(await connect(settings), SystemClock(), parallel=settings.parallel)
    try:
        async with FakeNodes(api, count, group).up():
            print("up", flush=True)
            with contextlib.suppress(EOFError):
                await asyncio.to_thread(input)  # until whoever started it closes the pipe, or writes a line
    finally:
        await api.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Nodes without a kubelet, until the standard input ends.")
    parser.add_argument("count", type=int)
    parser.add_argument("group")
    words = parser.parse_args()
    asyncio.run(_main(words.count, words.group))
