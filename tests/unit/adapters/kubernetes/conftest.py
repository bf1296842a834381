"""An API server in this process, and clusters on it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from hai_scheduler.adapters.kubernetes.cluster import KubernetesCluster
from hai_scheduler.adapters.kubernetes.preflight import NEEDS, Need
from hai_scheduler.adapters.system.clock import SystemClock
from hai_scheduler.core.model.observation import Observation
from hai_scheduler.core.model.run import RankState
from kit.stores import ScratchStore
from kit.waiting import until
from unit.adapters.kubernetes.api_server import ApiServer
from unit.adapters.kubernetes.things import a_kube_node, some_settings


class Clock(SystemClock):
    """The machine's time, and a jump ahead now and then. Pauses are short."""

    def __init__(self) -> None:
        super().__init__()
        self.ahead = timedelta()
        self.slept: list[float] = []

    def now(self) -> datetime:
        return super().now() + self.ahead

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(min(seconds, 0.01))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    server = ApiServer()
    for name in ("node-1", "node-2"):
        server.put("nodes", a_kube_node(name))
    await server.start()
    yield server
    await server.stop()
    assert not beyond(server.used, NEEDS), "the service asked for what it has no right to"


def beyond(used: set[tuple[str, str, str]], needs: tuple[Need, ...]) -> set[tuple[str, str, str]]:
    """What was used and is not among the needs."""
    return {
        (kind, verb, name)
        for kind, verb, name in used
        if not any(need.resource == kind and verb in need.verbs and need.name in ("", name) for need in needs)
    }


Opener = Callable[..., KubernetesCluster]


@pytest.fixture
async def opened(server: ApiServer, clock: Clock) -> AsyncIterator[Opener]:
    """A function that opens clusters on the server, with any settings."""
    clusters: list[KubernetesCluster] = []

    def open_one(**settings: Any) -> KubernetesCluster:
        chosen = some_settings(**{"watch_for": timedelta(seconds=1), "client_config_map": "hai-client", **settings})
        clusters.append(KubernetesCluster(chosen, server.client(clock), ScratchStore().logs, clock))
        return clusters[-1]

    yield open_one
    for cluster in clusters:
        await cluster.close()


@pytest.fixture
def cluster(opened: Opener) -> KubernetesCluster:
    return opened()


async def one(cluster: KubernetesCluster) -> Observation:
    """The observation of the only run."""
    (run,) = await cluster.observe()
    return run


async def state_is(cluster: KubernetesCluster, state: RankState, rank: int = 0) -> Observation:
    """The observation of the first run, as soon as that rank is in that state."""

    async def look() -> Observation | None:
        shown = [run for run in await cluster.observe() if len(run.ranks) > rank]
        return shown[0] if shown and shown[0].ranks[rank].state is state else None

    return await until(f"rank {rank} to be {state}", look)
