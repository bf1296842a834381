"""What one user asks to be computed does not delay other users: over HTTP, with real worker processes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hai_scheduler.adapters.system.clock import SystemClock
from hai_scheduler.adapters.system.local_bus import MemoryBus
from hai_scheduler.api.server import platform as rooms
from hai_scheduler.api.server.kinds import DEFAULTS, Kind, LimitSettings
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import TaskSpec, TaskState
from hai_scheduler.ports.logs import LogPlace
from hai_scheduler.ports.secret import Secret
from hai_scheduler.service.insight.forecasts import Forecasts
from hai_scheduler.service.launch.run_tokens import RunTokens
from hai_scheduler.service.shared.orders import Bounds, ForecastOrder
from hai_scheduler.store.store import open_store
from hai_scheduler.worker import pool as worker_pool
from hai_scheduler.worker.pool import ProcessWorkers
from integration.api.conftest import PREFIX, served
from integration.workers.kit import children
from kit.builders import T0, a_run, a_task, some_nodes
from kit.databases import sqlite_url
from kit.waiting import until
from kit.worlds import make_world

#: Queued tasks of unknown length: a forecast for a task behind them takes as long as it may.
QUEUE = 300
#: JSON that is nested too deeply for any parser, which takes long to find that out.
NESTED = "[" * 60_000


class Machines:
    """Nodes on which nothing changes, and a folder of logs."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs

    def log_place(self, run_id: str) -> LogPlace:
        return LogPlace(folder=str(self._logs / run_id))


@dataclass
class Platform:
    url: str
    client: aiohttp.ClientSession
    workers: ProcessWorkers
    forecasts: Forecasts

    async def ask(self, who: str, method: str, path: str, **options: Any) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {who}-token", **options.pop("headers", {})}
        async with self.client.request(method, f"{self.url}{path}", headers=headers, **options) as response:
            return response.status, await response.json()

    def forecast(self, who: str, **task: Any) -> Coroutine[Any, Any, tuple[int, Any]]:
        body = {"submit": {"name": "t", "command": ["x"], "cwd": "/", **task}, "horizon_s": 90 * 86_400}
        return self.ask(who, "POST", "/forecast", json=body)

    def parse(self, who: str, text: str) -> Coroutine[Any, Any, tuple[int, Any]]:
        return self.ask(who, "POST", "/tasks/parse", data=text, headers={"Content-Type": "application/yaml"})


@pytest.fixture
async def platform(tmp_path: Path) -> AsyncIterator[Platform]:
    url, clock = sqlite_url(tmp_path / "hai.sqlite"), SystemClock()
    store = await open_store(url)
    async with store.write() as tx:
        for level in (Priority.NORMAL, Priority.HIGH, Priority.LOW):
            await tx.quotas.put(Quota(subject="public", group="training", priority=level, limit=None))
        task = await tx.tasks.add(a_task(1, user="alice", priority=Priority.LOW), TaskSpec(command=("x",), cwd="/"))
        await tx.tasks.save(replace(task, state=TaskState.RUNNING, run=a_run(1, nodes=("node-4",))))
        for number in range(2, QUEUE):
            waits = a_task(number, user=f"user-{number % 7}", nodes=1 + number % 3, submitted_at=T0)
            await tx.tasks.add(waits, TaskSpec(command=("x",), cwd="/"))
    log = tmp_path / "logs" / "1.1" / "0"
    log.mkdir(parents=True)
    (log / f"{0:020d}.log").write_bytes(b"2026-01-05T12:00:02.000000Z a step of it\n" * 100_000)
    workers = ProcessWorkers(Secret(url), number=1)
    machines: Any = Machines(tmp_path / "logs")
    tokens = RunTokens(Secret("run secret"))
    world = make_world(store=store, cluster=machines, bus=MemoryBus(clock), clock=clock, workers=workers, holder="test")
    service = rooms.Platform(world)
    async with store.read() as tx:
        tasks = await tx.tasks.unfinished()
    latest_plan = world.latest_plan
    nodes = some_nodes(4)
    latest_plan.show(Snapshot(now=clock.now(), nodes=nodes, tasks=tuple(tasks)), latest_plan.policies, {}, seconds=0.1)
    # This tests the queue of the workers, not the limits before it (test_fairness.py).
    ample = replace(DEFAULTS[Kind.EXPENSIVE], at_once=64, total=64)
    limits = LimitSettings(budgets={**DEFAULTS, Kind.EXPENSIVE: ample})
    async with served(service, tokens, limits) as (root, _, client):
        yield Platform(f"{root}{PREFIX}api/v1", client, workers, service.insight.forecasts)
    await workers.close()
    await store.close()


async def test_a_user_who_sends_eight_forecasts_and_hangs_up_keeps_no_other_waiting(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    # These computations would never end by themselves.
    platform.forecasts.bounds = Bounds(seconds=10**6, plans=10**9)
    monkeypatch.setitem(worker_pool.SECONDS, ForecastOrder, 10**6)
    mallory = [asyncio.create_task(platform.forecast("alice", nodes=4, priority="LOW")) for _ in range(8)]
    await until("a computation to begin", lambda: children(platform.workers))
    (first,) = children(platform.workers)
    bob = asyncio.create_task(platform.forecast("bob", nodes=1, priority="HIGH"))
    for one in mallory:
        one.cancel()
    await asyncio.gather(*mallory, return_exceptions=True)
    await until("the first computation to be ended", lambda: first not in children(platform.workers))
    status, found = await bob
    assert (status, found["outcome"]) == (200, "now")
    await until("every computation to be ended", lambda: not children(platform.workers))


async def test_a_user_who_stays_with_eight_forecasts_has_one_computed_between_those_of_others(
    platform: Platform,
) -> None:
    platform.forecasts.bounds = Bounds(seconds=1.0)
    mallory = [asyncio.create_task(platform.forecast("alice", nodes=4, priority="LOW")) for _ in range(8)]
    await until("a computation to begin", lambda: children(platform.workers))
    status, found = await platform.forecast("bob", nodes=1, priority="HIGH")
    assert (status, found["outcome"]) == (200, "now")
    # In the order of arrival, the last of mallory's would have been computed before bob's.
    assert not all(one.done() for one in mallory)
    for one in mallory:
        one.cancel()
    await asyncio.gather(*mallory, return_exceptions=True)


async def test_deeply_nested_files_and_searches_of_long_logs_wait_for_one_another_and_not_for_others(
    platform: Platform,
) -> None:
    mallory = [asyncio.create_task(platform.parse("alice", NESTED)) for _ in range(4)]
    mallory += [asyncio.create_task(platform.ask("alice", "GET", "/tasks/1/logs/search?q=step")) for _ in range(4)]
    await until("a computation to begin", lambda: children(platform.workers))
    status, found = await platform.parse("bob", "version: 2\nname: x\nspec: {workspace: /w, entrypoint: a.py}\n")
    assert (status, found["name"]) == (200, "x")
    assert not all(one.done() for one in mallory)
    assert len(children(platform.workers)) <= 1
    for one in mallory[1:4]:
        one.cancel()
    assert (await mallory[0])[0] == 400
    status, hits = await mallory[4]
    assert (status, hits["counts"]) == (200, [{"run": 1, "rank": 0, "hits": 100_000}])
    for one in mallory:
        one.cancel()
    await asyncio.gather(*mallory, return_exceptions=True)
