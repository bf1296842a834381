"""Nodes without a kubelet on a real API server: what is bound to them is marked as running, deletions are confirmed.

Only the machines are pretended: the API server, its scheduler and every object are real. `kwok` does the same and more.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from kubernetes.aio import client, config, watch

LABEL = "hai.jupyter.org/bench"
PREFIX = "bench-"
PER_LEAF = 20
#: Requests under way at once.
AT_ONCE = 16
MERGE = "application/merge-patch+json"
CAPACITY = {"cpu": "128", "memory": "512Gi", "pods": "110"}


def name_of(number: int) -> str:
    """The name of a node."""
    return f"{PREFIX}{number:05d}"


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(slots=True)
class FakeNodes:
    """So many nodes of one group."""

    api: client.ApiClient
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
        await self._for_all(self._create)
        kubelets = [asyncio.create_task(self._play()), asyncio.create_task(self._renew())]
        try:
            yield self
        finally:
            for task in kubelets:
                task.cancel()
            await asyncio.gather(*kubelets, return_exceptions=True)
            await self._for_all(self._remove)

    async def _for_all(self, do: Callable[[str], Awaitable[None]]) -> None:
        await asyncio.gather(*(self._limited(do(name_of(number))) for number in range(self.count)))

    async def _limited(self, work: Awaitable[None]) -> None:
        async with self._limit:
            await work

    async def _create(self, name: str) -> None:
        core = client.CoreV1Api(self.api)
        number = int(name.removeprefix(PREFIX))
        labels = {
            LABEL: "node",
            "hai.jupyter.org/group": self.group,
            "hai.jupyter.org/leaf": f"leaf-{number // PER_LEAF:03d}",
            "topology.kubernetes.io/zone": "zone-a",
            "kubernetes.io/hostname": name,
        }
        with contextlib.suppress(client.ApiException):  # it is there from a run that was cut short
            await core.create_node({"metadata": {"name": name, "labels": labels}})
        have = {**CAPACITY, self.resource: str(self.gpus)}
        ready = {"type": "Ready", "status": "True", "reason": "Bench", "lastHeartbeatTime": _now()}
        status = {"capacity": have, "allocatable": have, "conditions": [{**ready, "lastTransitionTime": _now()}]}
        await core.patch_node_status(name, {"status": status}, _content_type=MERGE)
        lease = {"metadata": {"name": name}, "spec": {"holderIdentity": name, "leaseDurationSeconds": 3600}}
        lease["spec"]["renewTime"] = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        with contextlib.suppress(client.ApiException):
            await client.CoordinationV1Api(self.api).create_namespaced_lease("kube-node-lease", lease)

    async def _remove(self, name: str) -> None:
        for gone in (
            client.CoreV1Api(self.api).delete_node(name),
            client.CoordinationV1Api(self.api).delete_namespaced_lease(name, "kube-node-lease"),
        ):
            with contextlib.suppress(client.ApiException):
                await gone

    async def _renew(self) -> None:
        """The node controller asks for a sign of life within 40 seconds."""
        while True:
            await asyncio.sleep(15)
            await self._for_all(self._beat)

    async def _beat(self, name: str) -> None:
        body = {"spec": {"renewTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")}}
        with contextlib.suppress(client.ApiException):
            await client.CoordinationV1Api(self.api).patch_namespaced_lease(
                name, "kube-node-lease", body, _content_type=MERGE
            )

    async def _play(self) -> None:
        core = client.CoreV1Api(self.api)
        while True:
            async with watch.Watch() as events:
                stream = events.stream(core.list_pod_for_all_namespaces, field_selector="spec.nodeName!=")
                async for event in stream:
                    self._take(event["type"], event["raw_object"])

    def _take(self, kind: str, pod: dict[str, Any]) -> None:
        meta = pod["metadata"]
        if kind == "DELETED" or not pod["spec"].get("nodeName", "").startswith(PREFIX):
            return
        what = "delete" if meta.get("deletionTimestamp") else "run"
        if (meta["uid"], what) not in self._seen:
            self._seen.add((meta["uid"], what))
            job = asyncio.create_task(self._limited(self._delete(pod) if what == "delete" else self._run(pod)))
            self._jobs.add(job)
            job.add_done_callback(self._jobs.discard)

    async def _run(self, pod: dict[str, Any]) -> None:
        meta = pod["metadata"]
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
        with contextlib.suppress(client.ApiException):  # it was deleted meanwhile
            await client.CoreV1Api(self.api).patch_namespaced_pod_status(
                meta["name"], meta["namespace"], {"status": status}, _content_type=MERGE
            )

    async def _delete(self, pod: dict[str, Any]) -> None:
        meta = pod["metadata"]
        with contextlib.suppress(client.ApiException):
            await client.CoreV1Api(self.api).delete_namespaced_pod(
                meta["name"], meta["namespace"], grace_period_seconds=0
            )


async def _main(count: int, group: str) -> None:
    await config.load_kube_config()
    async with client.ApiClient() as api, FakeNodes(api, count, group).up():
        print("up", flush=True)
        with contextlib.suppress(EOFError):
            await asyncio.to_thread(input)  # until whoever started it closes the pipe, or writes a line


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Nodes without a kubelet, until the standard input ends.")
    parser.add_argument("count", type=int)
    parser.add_argument("group")
    words = parser.parse_args()
    asyncio.run(_main(words.count, words.group))
