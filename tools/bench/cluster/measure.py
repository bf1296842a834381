"""HAI on a real Kubernetes API server with simulated nodes: `python -m bench kubernetes`. Needs a KUBECONFIG.

In one run with the stock kube-scheduler on the same nodes and pods, so that the ratios mean something on any machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from kubernetes.aio import client, config
from kubernetes.aio.client import rest

from bench.cluster.binding import PATIENCE_S, Bindings
from bench.cluster.platform import GROUP, Service, service
from bench.cluster.stock import pods_a_second
from bench.figures import Report, percentile, say
from hai_scheduler.adapters.kubernetes.names import pod_name
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import TaskState

TOPIC = "Kubernetes"
NODES, GPUS, RESOURCE = 1_500, 8, "nvidia.com/gpu"
GANGS, GANG, LARGE = 100, 8, 1_000
URGENT = 20
#: Urgent tasks in the middle of a start.
AMID = 5
NAMESPACE = "hai-bench"
BINDINGS = ("affinity", "direct")


def measure(report: Report, nodes: int = NODES) -> None:
    """Measure everything; skipped without a cluster."""
    kubeconfig = os.environ.get("KUBECONFIG", "")
    if not kubeconfig:
        report.skip("kubernetes", "KUBECONFIG names no cluster")
        return
    asyncio.run(_measure(report, kubeconfig, nodes))


async def _measure(report: Report, kubeconfig: str, nodes: int) -> None:
    await config.load_kube_config(kubeconfig)
    async with client.ApiClient() as api:
        say(f"{nodes:,} simulated nodes")
        async with _fake_nodes(nodes):
            say("the stock scheduler")
            async with _namespace(api) as name:
                stock = await pods_a_second(api, name, nodes, GPUS, RESOURCE)
            report.add(TOPIC, "stock kube-scheduler, whole-node pods bound", stock, "/s", f"{nodes:,} pods")
            say(f"the stock scheduler: {stock:.1f} pods/s")
            for binding in BINDINGS:
                say(f"HAI, binding: {binding}")
                async with _namespace(api) as name:
                    settings = ClusterSettings(
                        namespace=name,
                        api_url="http://192.0.2.1/services/hai/api/v1",
                        kubeconfig=kubeconfig,
                        binding=binding,
                    )
                    with tempfile.TemporaryDirectory(prefix="hai-bench-") as folder:
                        async with Bindings(api, name).watching() as seen, service(Path(folder), settings) as hai:
                            await Round(report, hai, seen, binding, nodes).measure(stock)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    report.add(TOPIC, "memory of the service and of what measures it", peak, "MiB", "peak, one process")


@contextlib.asynccontextmanager
async def _fake_nodes(nodes: int) -> AsyncIterator[None]:
    """The simulated nodes in another process, so that their CPU time does not count for this one."""
    pipe = asyncio.subprocess.PIPE
    words = (sys.executable, "-m", "bench.cluster.fake_nodes", str(nodes), GROUP)
    child = await asyncio.create_subprocess_exec(*words, stdin=pipe, stdout=pipe)
    assert child.stdout is not None
    try:
        if (await child.stdout.readline()).strip() != b"up":
            raise RuntimeError("the simulated nodes could not be made")
        yield
    finally:
        assert child.stdin is not None
        child.stdin.close()
        await child.wait()


@contextlib.asynccontextmanager
async def _namespace(api: client.ApiClient) -> AsyncIterator[str]:
    core, name = client.CoreV1Api(api), f"{NAMESPACE}-{time.time_ns():x}"
    await core.create_namespace({"metadata": {"name": name}})
    try:
        yield name
    finally:
        await core.delete_namespace(name)
        await _until(lambda: _is_gone(core, name))


async def _is_gone(core: client.CoreV1Api, namespace: str) -> bool:
    return all(one.metadata.name != namespace for one in (await core.list_namespace()).items)


async def _until(met: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await met():  # noqa: ASYNC110  # the API server does not tell of it
            await asyncio.sleep(0.2)


@dataclass(slots=True)
class Round:
    """The measurements of HAI with one way of binding pods to nodes."""

    report: Report
    hai: Service
    seen: Bindings
    binding: str
    nodes: int

    async def measure(self, stock: float) -> None:
        """Measure one thing after the other; but for the urgent tasks, each begins and ends with an empty cluster."""
        await self._nodes_are_known()
        requests = Requests()
        with requests.counted():
            rate = await self._start("a full queue", self.nodes, 1)
        self._add(
            "whole-node tasks bound, from a full queue", rate, "/s", f"{rate / stock:.2f} x stock", at_least=stock
        )
        self._add("API requests for each of them", requests.count / self.nodes, "", "watches and their end included")
        await self._urgent()
        await self._empty()
        await self._urgent_in_a_start()
        await self._empty()
        rate = await self._start("gangs", GANGS, GANG)
        self._add(f"{GANGS} gangs of {GANG}: nodes bound", rate, "/s", "no gang is bound in part for good")
        await self._empty()
        size = min(LARGE, self.nodes)
        rate = await self._start("one gang", 1, size)
        self._add(f"one gang of {size:,}: nodes bound", rate, "/s", f"{size / rate:.1f} s")
        await self._empty()

    def _add(self, name: str, value: float, unit: str, note: str = "", **target: float) -> None:
        self.report.add(f"{TOPIC}, binding: {self.binding}", name, value, unit, note, **target)
        say(f"{name}: {value:,.1f} {unit} {note}".rstrip())

    async def _nodes_are_known(self) -> None:
        await _until(self._all_nodes)

    async def _all_nodes(self) -> bool:
        return sum(node.group == GROUP for node in self.hai.loop.cycle.latest_plan.nodes) >= self.nodes

    async def _start(self, what: str, tasks: int, size: int) -> float:
        """Queue `tasks` tasks of `size` nodes while starts are paused, then resume; returns nodes bound a second."""
        await self.hai.pause()
        for number in range(tasks):
            await self.hai.submit(f"{what}-{number}".replace(" ", "-"), size)
        before = len(self.seen.bound)
        began = time.monotonic()
        await self.hai.go_on()
        await self.seen.until(lambda b: len(b.bound) - before >= tasks * size, what)
        taken = max(self.seen.bound.values()) - began
        live = [task for task in await self.hai.tasks() if task.live_run is not None]
        assert len(live) == tasks, f"{what}: {len(live)} of {tasks} tasks have nodes"
        return tasks * size / taken

    async def _urgent(self) -> None:
        """Measure urgent tasks on a cluster that is full of running tasks, which leave at once."""
        await _until(self._all_run)
        times = []
        for number in range(URGENT):
            before = set(self.seen.bound)
            began = time.monotonic()
            await self.hai.submit(f"urgent-{number}", 1, Priority.VERY_HIGH)
            await self.seen.until(lambda b, old=before: bool(set(b.bound) - old), "an urgent task")
            times.append(min(self.seen.bound[uid] for uid in set(self.seen.bound) - before) - began)
        name = "urgent submit to bound, on a full cluster"
        self._add(f"{name}, p50", percentile(times, 50) * 1000, "ms", f"of {URGENT}", at_most=1000)
        self._add(f"{name}, max", max(times) * 1000, "ms")

    async def _urgent_in_a_start(self) -> None:
        """Measure urgent tasks one after the other, each on a free node, while all other tasks are being started."""
        await self.hai.pause()
        others = self.nodes - AMID
        for number in range(others):
            await self.hai.submit(f"start-{number}", 1)
        before = len(self.seen.bound)
        await self.hai.go_on()
        times, left = [], []
        for number in range(AMID):
            # They are spread over the first two thirds of the start: towards its end there is no queue any more.
            some = before + others * 2 * (number + 1) // (3 * (AMID + 1))
            await self.seen.until(lambda b, some=some: len(b.bound) >= some, "a part of a start")
            began = time.monotonic()
            task = await self.hai.submit(f"amid-{number}", 1, Priority.VERY_HIGH)
            first = pod_name(f"{task}.1", 0)
            await self.seen.until(lambda b, name=first: name in b.names.values(), "an urgent task")
            uid = next(uid for uid, name in self.seen.names.items() if name == first)
            times.append(self.seen.bound[uid] - began)
            left.append(others - (len(self.seen.bound) - before))
        name = f"urgent submit to bound, in a start of {others:,}"
        self._add(f"{name}, p50", percentile(times, 50) * 1000, "ms", f"of {AMID}", at_most=2000)
        self._add(f"{name}, max", max(times) * 1000, "ms", f"{left[0]:,} others were left after the first")
        await self.seen.until(lambda b: len(b.bound) - before >= self.nodes, "the whole start")

    async def _all_run(self) -> bool:
        return all(task.state is TaskState.RUNNING for task in await self.hai.tasks())

    async def _empty(self) -> None:
        await self.hai.stop([task.id for task in await self.hai.tasks()])
        await _until(self._nobody)

    async def _nobody(self) -> bool:
        return not await self.hai.tasks()


class Requests:
    """A counter of the requests that this process sends to the API server."""

    def __init__(self) -> None:
        self.count = 0

    @contextlib.contextmanager
    def counted(self) -> Iterator[None]:
        """A context in which requests are counted."""
        real = rest.RESTClientObject.request

        async def request(*words: object, **more: object) -> object:
            self.count += 1
            return await real(*words, **more)

        with mock.patch.object(rest.RESTClientObject, "request", request):
            yield
