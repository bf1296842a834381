"""Many simulated nodes for the benchmark: pods that are bound to them count as running, and vanish when deleted."""

from __future__ import annotations

import argparse
import asyncio
import contextlib

from hai_scheduler.adapters.kubernetes.client import KubernetesApi, connect
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.adapters.system.clock import SystemClock
from kit.kubernetes.simulated_nodes import AT_ONCE, SimulatedNodes, Thing, now

LABEL = "hai.jupyter.org/bench"
PREFIX = "bench-"
PER_LEAF = 20


def name_of(number: int) -> str:
    """The name of a node."""
    return f"{PREFIX}{number:05d}"


class FakeNodes(SimulatedNodes):
    """`count` simulated nodes of one group. Their pods do nothing, and are gone as soon as they are deleted."""

    def __init__(self, api: KubernetesApi, count: int, group: str) -> None:
        nodes = {name_of(number): _labels(number, group) for number in range(count)}
        super().__init__(api, nodes, marked=f"{LABEL}=node")
        self._seen: set[tuple[str, str]] = set()

    def take_pod(self, kind: str, pod: Thing) -> None:
        meta = pod["metadata"]
        what = "delete" if meta.get("deletionTimestamp") else "run"
        if kind != "DELETED" and (meta["uid"], what) not in self._seen:
            self._seen.add((meta["uid"], what))
            self.start(self.confirm(pod) if what == "delete" else self.show(pod, _running(pod)))


def _labels(number: int, group: str) -> dict[str, str]:
    return {
        LABEL: "node",
        "hai.jupyter.org/group": group,
        "hai.jupyter.org/leaf": f"leaf-{number // PER_LEAF:03d}",
        "topology.kubernetes.io/zone": "zone-a",
        "kubernetes.io/hostname": name_of(number),
    }


def _running(pod: Thing) -> Thing:
    up = {"ready": True, "restartCount": 0, "image": "bench", "imageID": "", "started": True}
    return {
        "phase": "Running",
        "podIP": "192.0.2.1",
        "startTime": now(),
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": now()}],
        "containerStatuses": [
            {**up, "name": one["name"], "state": {"running": {"startedAt": now()}}} for one in pod["spec"]["containers"]
        ],
    }


async def _main(count: int, group: str) -> None:
    settings = ClusterSettings(namespace="default", api_url="", parallel=3 * AT_ONCE)
    api = KubernetesApi(await connect(settings), SystemClock(), parallel=settings.parallel)
    try:
        async with FakeNodes(api, count, group).up():
            print("up", flush=True)
            with contextlib.suppress(EOFError):
                await asyncio.to_thread(input)  # until the parent process closes the pipe or writes a line
    finally:
        await api.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Nodes without a kubelet, until the standard input ends.")
    parser.add_argument("count", type=int)
    parser.add_argument("group")
    words = parser.parse_args()
    asyncio.run(_main(words.count, words.group))
