"""The Kubernetes adapter for the contract suite of the Cluster port: real pods on a real cluster."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar

from contract.cluster_harness import ClusterHarness
from hai_scheduler.adapters.kubernetes.client import KubernetesApi, connect
from hai_scheduler.adapters.kubernetes.cluster import KubernetesCluster
from hai_scheduler.adapters.kubernetes.names import run_selector
from hai_scheduler.adapters.kubernetes.preflight import check
from hai_scheduler.adapters.system.clock import SystemClock
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.ports.cluster import Cluster, LaunchOrder
from hai_scheduler.ports.errors import Temporary
from kit.kubernetes.kubelets_since_127 import SLOW_IMAGE
from kit.kubernetes.place import SOON, Place, admin
from kit.kubernetes.ranks_service import RanksService
from kit.waiting import until

T = TypeVar("T")
#: Code before every command of the tests: it tells the service of its start, and can ask whether it may exit.
PREAMBLE = """
import os, signal, sys, time, urllib.request
def ask(path):
    return urllib.request.urlopen({url!r} + path, timeout=10).status
ask("/started/%s-%s" % (os.environ["HAI_RUN_ID"], os.environ["HAI_RANK"]))
"""
WAIT = 'print("up")\nwhile ask("/go") != 200: time.sleep(0.1)\n'


class BreakingApi(KubernetesApi):
    """The API server; on demand, one request to create a pod fails after `pods_left` such requests have succeeded."""

    #: How many such requests are still answered; None: all.
    pods_left: int | None = None

    async def request(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        if self.pods_left is not None and method == "POST" and path.endswith("/pods"):
            if not self.pods_left:
                self.pods_left = None
                raise Temporary("this request was broken off by the test")
            self.pods_left -= 1
        return await super().request(method, path, **more)


class KubernetesHarness(ClusterHarness):
    """The names of the suite's nodes stand for nodes of the cluster, one for several where it has few."""

    def __init__(self, place: Place, **settings: Any) -> None:
        self.place = place
        self.service = RanksService()
        # Pods without requests get little of a busy machine: with less time, one that would leave is killed.
        self._settings = {"term_wait": timedelta(seconds=5), **settings}
        self._clusters: list[KubernetesCluster] = []
        self._apis: list[BreakingApi] = []

    async def start(self) -> None:
        await self.service.start(self.place.host)

    async def open(self) -> Cluster:
        return await self.open_with()

    async def open_with(self, *, acts: bool = True, **settings: Any) -> KubernetesCluster:
        """A cluster with `settings` besides the harness's own; `acts` is as in `open_cluster`."""
        chosen = self.place.settings(f"{self.service.url}/api", **{**self._settings, **settings})
        clock = SystemClock()
        api = BreakingApi(await connect(chosen), clock, parallel=chosen.parallel)
        try:
            await check(api, chosen.namespace, acts=acts, foreign=chosen.foreign_pods)
        except BaseException:
            await api.close()
            raise
        cluster = KubernetesCluster(chosen, api, self.service.logs, clock)
        self._clusters.append(cluster)
        self._apis.append(api)
        self.service.cluster = cluster
        return cluster

    async def close(self) -> None:
        for cluster in self._clusters:
            await cluster.close()
        await self._end_pods()
        await self.service.close()

    async def _end_pods(self) -> None:
        """Delete all pods soon, without a wait: the namespace is removed with all its objects."""
        async with admin() as api:
            soon = {"gracePeriodSeconds": 1}
            await api.request("DELETE", f"{self.place.path}/pods", body=soon)

    def node(self, name: str) -> str:
        number = int(name.removeprefix("node-")) - 1
        return self.place.nodes[number % len(self.place.nodes)] if number < 3 else name

    def launch(self, number: int, command: tuple[str, ...], *nodes: str, **fields: Any) -> LaunchOrder:
        launch = super().launch(number, command, *nodes, **fields)
        return replace(launch, nodes=tuple(self.node(name) for name in launch.nodes))

    async def break_launch(self, after: int) -> bool:
        for api in self._apis:
            api.pods_left = after
        return True

    def held(self, launch: LaunchOrder) -> LaunchOrder:
        return replace(launch, image=SLOW_IMAGE)

    async def vanished(self, run_id: RunId) -> bool:
        async with admin() as api:
            found = await api.request("GET", f"{self.place.path}/pods", query={"labelSelector": run_selector(run_id)})
        return not found["items"]

    def ended_with(self, exit_code: int | None, expected: int) -> bool:
        # A kubelet of 1.20 may blank the status of a container while its pod is being deleted.
        return exit_code in (expected, None)

    def _script(self, text: str) -> tuple[str, ...]:
        return ("python3", "-c", PREAMBLE.format(url=self.service.url) + text)

    def prints(self, text: str, *, status: int = 0) -> tuple[str, ...]:
        return self._script(f"print({text!r})\nsys.exit({status})\n")

    def waits(self) -> tuple[str, ...]:
        return self._script(WAIT)

    def resists(self) -> tuple[str, ...]:
        return self._script("signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + WAIT)

    def saves(self, step: int, state: str) -> tuple[str, ...] | None:
        # Reports of a job reach the service over REST; the cluster shows them when the pod has ended.
        return None

    def devices(self) -> tuple[str, ...] | None:
        # Which GPUs a pod gets is decided by the device plugin; the platform asks for a number of them.
        return None

    def missing(self) -> tuple[str, ...]:
        return ("no-such-command",)

    async def release(self) -> None:
        self.service.released = True

    async def starts(self, run_id: RunId, rank: int) -> int:
        return self.service.starts[f"{run_id}-{rank}"]

    async def settle(self, look: Callable[[], Awaitable[T]]) -> T:
        return await until("the cluster to settle", look, SOON, pause=0.1)
