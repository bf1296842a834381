"""The cost of a tick by what has changed: thousands of queued tasks on 4 nodes, a real database, virtual time.

`python -m bench ticks [--queued 10000] [--profile]`. Runs take no time to start here: what is measured is the
scheduler alone. Every tick does what it does in production: one transaction on a file of SQLite, synced at its commit.
"""

from __future__ import annotations

import asyncio
import cProfile
import json
import os
import pstats
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bench.figures import Report, percentile, say
from hai_scheduler.adapters.system.local_bus import MemoryBus
from hai_scheduler.api.handlers import tasks
from hai_scheduler.api.server.encoded import Encoded
from hai_scheduler.api.server.platform import Platform
from hai_scheduler.api.server.route import Ask
from hai_scheduler.api.wire.params import TaskQuery
from hai_scheduler.app.loop import SchedulingLoop
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.ports.values import TaskFilter, UserRecord
from hai_scheduler.service.scheduling import cycle as cycle_module
from hai_scheduler.service.scheduling.cycle import Cycle
from hai_scheduler.service.scheduling.decision_log import DecisionLog
from hai_scheduler.service.scheduling.planner import Planner
from hai_scheduler.service.shared.caller import SCOPE_ADMIN, SCOPE_READ, SCOPE_WRITE, Caller
from hai_scheduler.service.shared.settings import ServiceSettings
from hai_scheduler.service.tasks.submission import Submission
from hai_scheduler.store.parts.events import StoredEvents
from hai_scheduler.store.parts.tasks import StoredTasks
from hai_scheduler.store.store import Store, open_store
from kit.builders import a_spec, a_task, some_nodes
from kit.memory.behaviour import Behaviour
from kit.memory.clock import VirtualClock
from kit.memory.cluster import MemoryCluster, notices_of
from kit.worlds import TOKENS, make_world

QUEUED, NODES, USERS = 10_000, 4, 20
IDLE, SUBMITTED, CHURNED, READS = 60, 40, 60, 10
PAGE = 200
#: Targets: milliseconds of an idle tick, and the rate of trivial tasks as a share of that with an empty queue.
IDLE_MS, SHARE = 20.0, 0.8
_CPU = "a trivial task, CPU"
_HOLDS = Priority.VERY_HIGH
_LONG = Behaviour(work=timedelta(days=30))
_SHORT = Behaviour(work=timedelta(seconds=0.05))

#: The parts of a tick: object, method, and name of the part; a part inside another one counts in both.
PARTS: list[tuple[Any, str, str]] = [
    (StoredTasks, "unfinished", "read tasks"),
    (MemoryCluster, "observe", "observe"),
    (Cycle, "_read_world", "compare (with reading)"),
    (cycle_module, "snapshot_of", "read the rest"),
    (Planner, "plan", "plan"),
    (Cycle, "_write_targets", "write targets"),
    (DecisionLog, "write", "verdict lines"),
    (StoredEvents, "add", "lines of history"),
]


class Bench:
    """A service on a database in a folder, with a queue behind tasks that hold every node but one."""

    def __init__(self, store: Store) -> None:
        self.clock = VirtualClock()
        self.store = store
        self.cluster = MemoryCluster(self.clock, some_nodes(NODES), notices=notices_of(store))
        world = make_world(
            store=store,
            cluster=self.cluster,
            bus=MemoryBus(self.clock),
            clock=self.clock,
            settings=ServiceSettings(tasks_per_user=100_000),
            holder="bench",
        )
        self.loop, self.platform = SchedulingLoop(world, TOKENS), Platform(world)
        #: CPU seconds of a trivial task.
        self.churn_cpu = 0.0
        self.spent: defaultdict[str, list[float]] = defaultdict(list)

    async def fill(self, queued: int) -> None:
        """Make quota, users, tasks that hold all nodes, and the queue."""
        async with self.store.write() as tx:
            for subject, level in (("public", Priority.LOW), ("public", Priority.NORMAL), ("user:admin", _HOLDS)):
                await tx.quotas.put(Quota(subject=subject, group="training", priority=level, limit=None))
            for number in range(USERS):
                await tx.users.put(UserRecord(name=f"user-{number}", groups=frozenset({"lab"})))
        await self.tick()
        for number in range(NODES):
            await self.submit(f"holder-{number}", "admin", _HOLDS, _LONG)
        await self.tick()
        await self.clock.advance(1)
        await self.tick()
        now = self.clock.now()
        for begin in range(0, queued, 1000):
            async with self.store.write() as tx:
                for number in range(begin, min(begin + 1000, queued)):
                    waits = a_task(
                        name=f"task-{number}",
                        user=f"user-{number % USERS}",
                        priority=(Priority.NORMAL, Priority.LOW, None)[number % 3],
                        nodes=1 + (number % 7 == 6),
                        submitted_at=now,
                        waiting_since=now,
                    )
                    await tx.tasks.add(waits, a_spec())
        for number in range(1, queued + 2 * (SUBMITTED + CHURNED)):
            self.cluster.jobs.script(NODES + number, _SHORT)

    async def submit(self, name: str, user: str, priority: Priority, does: Behaviour) -> int:
        """Submit a task as a user does."""
        caller = Caller(name=user, scopes=frozenset({SCOPE_WRITE}))
        task = await self.platform.tasks.submissions.submit(
            caller, Submission(name=name, command=("true",), cwd="/", nodes=1, priority=priority)
        )
        self.cluster.jobs.script(task.id, does)
        return task.id

    async def tick(self) -> float:
        """Tick once; returns how many seconds that took."""
        began = time.perf_counter()
        if not await self.loop.cycle.tick():
            raise RuntimeError("the benchmark does not lead")
        return time.perf_counter() - began

    @contextmanager
    def parts_timed(self) -> Iterator[None]:
        """A context in which the times of the parts of each tick are recorded."""
        with ExitStack() as stack:
            for owner, name, label in PARTS:
                if hasattr(owner, name):
                    stack.enter_context(patch.object(owner, name, self._timed(getattr(owner, name), label)))
            yield

    def _timed(self, call: Callable[..., Any], label: str) -> Callable[..., Any]:
        async def waited(*given: Any, **named: Any) -> Any:
            began = time.perf_counter()
            try:
                return await call(*given, **named)
            finally:
                self.spent[label].append(time.perf_counter() - began)

        def called(*given: Any, **named: Any) -> Any:
            began = time.perf_counter()
            try:
                return call(*given, **named)
            finally:
                self.spent[label].append(time.perf_counter() - began)

        return waited if asyncio.iscoroutinefunction(call) else called


def measure(report: Report, queued: int = QUEUED, *, profile: bool = False) -> None:
    """Measure everything, in a temporary folder."""
    for count in (0, queued):
        with tempfile.TemporaryDirectory(prefix="hai-ticks-") as folder:
            asyncio.run(_measure(report, Path(folder), count, profile=profile and count > 0))
    full, empty = _value(report, _topic(queued), "trivial tasks"), _value(report, _topic(0), "trivial tasks")
    report.add(_topic(queued), "trivial tasks, to an empty queue", full / empty, "", "by the clock of the wall")
    more, least = _value(report, _topic(queued), _CPU), _value(report, _topic(0), _CPU)
    note = "their rate, by what they take of the processor"
    report.add(_topic(queued), "trivial tasks, to an empty queue, CPU", least / more, "", note, at_least=SHARE)


def _topic(queued: int) -> str:
    return f"ticks with {queued:,} queued"


def _value(report: Report, topic: str, name: str) -> float:
    return next(each.value for each in report.figures if (each.topic, each.name) == (topic, name))


async def _measure(report: Report, folder: Path, queued: int, *, profile: bool) -> None:
    topic, store = _topic(queued), await open_store(f"sqlite:///{folder / 'hai.sqlite'}")
    say(f"{queued:,} tasks are queued")
    bench = Bench(store)
    try:
        await bench.fill(queued)
        report.add(topic, "load average", os.getloadavg()[0], "", "1 minute, at the beginning")
        spent = time.process_time()
        report.add(topic, "first tick of a process", (await bench.tick()) * 1000, "ms")
        report.add(topic, "first tick of a process, CPU", (time.process_time() - spent) * 1000, "ms")
        for _ in range(20):
            await bench.clock.advance(1)
            await bench.tick()
        if profile:
            await _profile("idle", bench, _idle)
        with bench.parts_timed():
            await _ticks(report, topic, "idle", bench, _idle, IDLE, at_most=IDLE_MS)
            await _ticks(report, topic, "one submission", bench, _one_submission, SUBMITTED)
        await bench.platform.tasks.submissions.stop(_ADMIN, str(NODES))
        for _ in range(4):
            await bench.clock.advance(1)
            await bench.tick()
        if profile:
            await _profile("churn", bench, _one_end)
        with bench.parts_timed():
            await _ticks(report, topic, "an end and a start", bench, _one_end, CHURNED)
        report.add(topic, "trivial tasks", await _churn(bench), "/s", "one after the other on one node, all ticks")
        report.add(topic, _CPU, bench.churn_cpu * 1000, "ms", "with its submission")
        async with store.read() as tx:
            report.add(topic, "events per queued task", await tx.events.last_seq() / max(1, queued), "")
        if queued:
            await _reads(report, topic, bench, profile=profile)
    finally:
        await store.close()


_ADMIN = Caller(name="root", scopes=frozenset({SCOPE_ADMIN, SCOPE_READ, SCOPE_WRITE}))


async def _idle(bench: Bench) -> float:
    await bench.clock.advance(1)
    return await bench.tick()


async def _one_submission(bench: Bench) -> float:
    await bench.clock.advance(1)
    await bench.submit("another", "user-3", Priority.LOW, _SHORT)
    return await bench.tick()


async def _one_end(bench: Bench) -> float:
    """A tick in which a task has ended and the next one starts; where none waits, one is submitted before."""
    await bench.submit("churn", "user-3", Priority.NORMAL, _SHORT)
    await bench.clock.advance(1.5)
    return await bench.tick()


async def _churn(bench: Bench) -> float:
    """How many trivial tasks start and end in a second, computed from the ticks that they need."""
    took, before, began = 0.0, await _ended(bench), time.process_time()
    for _ in range(2 * CHURNED):
        await bench.submit("churn", "user-3", Priority.NORMAL, _SHORT)
        await bench.clock.advance(0.03)
        took += await bench.tick()
    bench.churn_cpu = (time.process_time() - began) / (2 * CHURNED)
    return (await _ended(bench) - before) / took


async def _ended(bench: Bench) -> int:
    async with bench.store.read() as tx:
        return sum(event.data.get("to") == "succeeded" for event in await tx.events.page(after=0, limit=10**6))


async def _ticks(
    report: Report,
    topic: str,
    name: str,
    bench: Bench,
    one: Callable[[Bench], Awaitable[float]],
    count: int,
    *,
    at_most: float | None = None,
) -> None:
    bench.spent.clear()
    took, busy = [], []
    for _ in range(count):
        began = time.process_time()
        took.append(await one(bench))
        busy.append(time.process_time() - began)
    report.add(topic, f"tick, {name}: p50", percentile(took, 50) * 1000, "ms", at_most=at_most)
    report.add(topic, f"tick, {name}: p95", percentile(took, 95) * 1000, "ms", f"of {count}")
    note = "with what brings the change about; other programs do not count"
    report.add(topic, f"tick, {name}: CPU, mean", sum(busy) / count * 1000, "ms", note)
    for label, each in bench.spent.items():
        note = f"{len(each) / count:.3g} a tick"
        report.add(topic, f"    {label}, mean a tick", sum(each) / count * 1000, "ms", note)


async def _reads(report: Report, topic: str, bench: Bench, *, profile: bool) -> None:
    platform, page = bench.platform, _Pages(bench)
    owner = Caller(name="user-3", scopes=frozenset({SCOPE_READ}))

    async def metrics() -> None:
        await platform.prometheus.exposition(platform.insight.queries)

    async def cluster() -> None:
        await platform.insight.queries.whole_cluster()

    async def quota() -> None:
        await platform.insight.queries.own_quota(owner)

    async def explain() -> None:
        last = (await platform.insight.task_lists.page(owner, TaskFilter(), cursor=None, limit=1)).items[0]
        ask = Ask(platform=platform, who=owner, path={"task": str(last.task.id)}, query=None, body=None, headers={})
        (await tasks.explain(ask)).model_dump_json()

    for name, call in (
        ("GET /cluster", cluster),
        ("GET /metrics", metrics),
        ("own quota", quota),
        ("explain of the last", explain),
        (f"GET /tasks, one page of {PAGE}", page.first),
    ):
        took, busy = [], 0.0
        for _ in range(READS):
            await bench.clock.advance(1)
            await bench.tick()
            began, spent = time.perf_counter(), time.process_time()
            await call()
            took.append(time.perf_counter() - began)
            busy += time.process_time() - spent
        report.spread(topic, name, took)
        report.add(topic, f"{name}: CPU, mean", busy / READS * 1000, "ms", "after a tick each, so nothing is found yet")
        if profile:
            await _profile(name, bench, lambda _, call=call: call())
    began, spent = time.perf_counter(), time.process_time()
    pages = await page.all()
    report.add(topic, "GET /tasks, all pages", (time.perf_counter() - began) * 1000, "ms", f"{pages} pages of {PAGE}")
    report.add(topic, "GET /tasks, a page of all: CPU", (time.process_time() - spent) / pages * 1000, "ms")


class _Pages:
    """Lists of all users' tasks, as JSON."""

    def __init__(self, bench: Bench) -> None:
        self._platform = bench.platform

    async def first(self) -> None:
        """Read the page of the newest tasks."""
        await self._page(None)

    async def all(self) -> int:
        """Read one page after the other; returns how many there are."""
        pages, cursor = 0, None
        while pages == 0 or cursor is not None:
            pages, cursor = pages + 1, json.loads(await self._page(cursor))["next_cursor"]
        return pages

    async def _page(self, cursor: str | None) -> bytes:
        query = TaskQuery(user="*", limit=PAGE, cursor=cursor)
        ask = Ask(platform=self._platform, who=_ADMIN, path={}, query=query, body=None, headers={})
        shown = await tasks.show_all(ask)
        if not isinstance(shown, Encoded):
            raise TypeError(f"a page of tasks is {shown!r}, not bytes")
        return shown.body


async def _profile(name: str, bench: Bench, one: Callable[[Bench], Awaitable[object]]) -> None:
    profiler = cProfile.Profile()
    for _ in range(10):
        if name in ("idle", "churn"):
            profiler.enable()
            await one(bench)
            profiler.disable()
        else:
            await bench.clock.advance(1)
            await bench.tick()
            profiler.enable()
            await one(bench)
            profiler.disable()
    say(f"profile of 10 times: {name}")
    pstats.Stats(profiler).sort_stats("tottime").print_stats(28)
