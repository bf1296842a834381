"""A whole service with a real HTTP server, a database on disk and a scheduling loop, for tests of misuse."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hai_scheduler.adapters.system.clock import SystemClock
from hai_scheduler.adapters.system.local_bus import MemoryBus
from hai_scheduler.api.server.kinds import LimitSettings
from hai_scheduler.api.server.limits import Gate
from hai_scheduler.api.server.platform import Platform
from hai_scheduler.app.loop import SchedulingLoop
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.ports.secret import Secret
from hai_scheduler.service.launch.run_tokens import RunTokens
from hai_scheduler.store.store import SqlStore, open_store
from integration.api.conftest import PREFIX, served
from integration.api.fakes import READ, WRITE, FakeHub, a_user_model
from kit.databases import sqlite_url
from kit.memory.cluster import MemoryCluster, notices_of
from kit.worlds import make_world

#: Clients that one user runs at once.
CLIENTS = 64


@dataclass
class Crowd:
    """The service, and clients of it."""

    root: str
    store: SqlStore
    cluster: MemoryCluster
    platform: Platform
    hub: FakeHub
    tokens: RunTokens
    client: aiohttp.ClientSession
    #: How many answers there were, by user and status.
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    #: The most requests that were worked on at once: of one client, and of all, by kind.
    most: Counter[str] = field(default_factory=Counter)

    async def ask(self, who: str, method: str, path: str, **options: Any) -> tuple[int, Any]:
        """Send a request as `who`; returns the status and the body of the answer."""
        headers = {"Authorization": f"Bearer {who}-token", **options.pop("headers", {})}
        url = f"{self.root}{PREFIX}api/v1{path}"
        async with self.client.request(method, url, headers=headers, **options) as response:
            self.statuses[who, response.status] += 1
            kind = response.content_type
            found = await (response.json(content_type=None) if kind.endswith("json") else response.read())
            return response.status, found

    async def submit(self, who: str, name: str, **body: Any) -> int:
        """Submit a task of `who`; returns its id."""
        body = {"name": name, "command": ["true"], "cwd": "/", "hold": True, **body}
        status, task = await self.ask(who, "POST", "/tasks", json=body)
        assert status == 201, task
        return int(task["id"])

    @contextlib.asynccontextmanager
    async def misused(self, attack: Callable[[int], Awaitable[object]]) -> AsyncIterator[None]:
        """A context in which clients of one user call `attack` again and again, each at its own pace."""

        async def client(number: int) -> None:
            while True:
                await attack(number)

        clients = [asyncio.create_task(client(number)) for number in range(CLIENTS)]
        try:
            yield
        finally:
            for one in clients:
                one.cancel()
            ends = await asyncio.gather(*clients, return_exceptions=True)
        assert all(isinstance(end, asyncio.CancelledError) for end in ends), ends


@pytest.fixture
def limits() -> LimitSettings:
    """The limits of the service; tests may override them."""
    return LimitSettings()


@pytest.fixture
async def crowd(tmp_path: Path, limits: LimitSettings, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Crowd]:
    """The service, with users mallory, bob and carol."""
    clock = SystemClock()
    store, bus = await open_store(sqlite_url(tmp_path / "hai.sqlite")), MemoryBus(clock)
    cluster = MemoryCluster(clock, [Node(name=f"node-{n}", gpus=2) for n in (1, 2)], notices=notices_of(store))
    tokens = RunTokens(Secret("run secret"))
    world = make_world(store=store, cluster=cluster, bus=bus, clock=clock, holder="test")
    loop, platform = SchedulingLoop(world, tokens), Platform(world)
    async with store.write() as tx:
        for level in Priority:
            await tx.quotas.put(Quota(subject="public", group="training", priority=level, limit=None))
    await loop.cycle.tick()
    scheduling = asyncio.create_task(loop.cycle.run())
    async with served(platform, tokens, limits) as (root, hub, client):
        for name in ("mallory", "bob", "carol"):
            hub.tokens[f"{name}-token"] = a_user_model(name, READ, WRITE)
        found = Crowd(root=root, store=store, cluster=cluster, platform=platform, hub=hub, tokens=tokens, client=client)
        _watch_places(monkeypatch, found.most)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as many:
            found.client = many
            yield found
    await loop.cycle.stop()
    await scheduling
    await cluster.close()
    await store.close()


def _watch_places(monkeypatch: pytest.MonkeyPatch, most: Counter[str]) -> None:
    take = Gate._take

    def watched(gate: Gate, client: Any) -> None:
        take(gate, client)
        for name, number in ((f"{gate.kind} of one", client.working), (f"{gate.kind} of all", gate.working)):
            most[name] = max(most[name], number)

    monkeypatch.setattr(Gate, "_take", watched)
