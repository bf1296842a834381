"""Trivial tasks through the scheduler's own parts, without Hub and REST: `python -m bench churn [--tasks N]`.

How many start and end a second on local nodes, a real database and real processes: with nothing else in the queue, and
behind a long queue of tasks whose nodes are held.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

from bench.figures import Report, say
from hai_scheduler.adapters.local.cluster import LocalCluster
from hai_scheduler.adapters.local.nodes import LocalNode
from hai_scheduler.adapters.local.settings import LocalSettings
from hai_scheduler.adapters.system.clock import SystemClock
from hai_scheduler.adapters.system.local_bus import MemoryBus
from hai_scheduler.api.server.platform import Platform
from hai_scheduler.app.loop import SchedulingLoop
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.ports.values import TaskFilter
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.locations import RankLocations
from hai_scheduler.service.shared.settings import ServiceSettings
from hai_scheduler.service.tasks.submissions import Submission
from hai_scheduler.store.store import SqlStore, open_store
from kit.worlds import TOKENS, make_world

TOPIC = "trivial tasks through the scheduler alone"
NODES, TASKS, QUEUED = 5, 2_000, 10_000
COMMAND = ("/bin/true",)
#: Node groups: where the trivial tasks run, and where one task holds the only node and all others wait.
FREE, HELD = "training", "held"
USER = Caller(name="bench")
_PATIENCE_S = 1800.0


def measure(report: Report, *, tasks: int = TASKS, queued: int = QUEUED) -> None:
    """Measure with an empty queue, then behind a long one."""
    rate = alone(report, tasks)
    say(f"{tasks:,} trivial tasks behind {queued:,} that wait")
    behind = asyncio.run(_measure(report, f"behind {queued:,} that wait", tasks, queued))
    report.add(TOPIC, f"behind {queued:,} to an empty queue", behind / rate, "", "ratio of rates")


def alone(report: Report, tasks: int) -> float:
    """Tasks that start and end a second with no other task in the queue."""
    say(f"{tasks:,} trivial tasks")
    rate = asyncio.run(_measure(report, "an empty queue", tasks, 0))
    bare = _bare(min(tasks, 500))
    report.add(TOPIC, f"bare `{COMMAND[0]}`, one after the other", bare, "/s", "for comparison")
    return rate


async def _measure(report: Report, when: str, tasks: int, queued: int) -> float:
    with tempfile.TemporaryDirectory(prefix="hai-bench-", ignore_cleanup_errors=True) as folder:
        async with _service(Path(folder)) as service:
            if queued:
                await service.fill(queued)
            before = _cpu()
            loop = asyncio.create_task(service.loop.cycle.run())
            try:
                ticks, began = service.loop.cycle.latest_plan.ticks, time.monotonic()
                await service.submit(tasks)
                submitted = time.monotonic() - began
                await service.until_ended(tasks)
                lasted = time.monotonic() - began
                ticks = service.loop.cycle.latest_plan.ticks - ticks
                own = _cpu()[0] - before[0]
            finally:
                await service.loop.cycle.stop()
                await loop
    rate = tasks / lasted
    # The fork server of the ranks has ended by now.
    children = _cpu()[1] - before[1]
    load = os.getloadavg()[0]
    report.add(TOPIC, f"{when}: started and ended", rate, "/s", f"{tasks:,} on {NODES} nodes, load {load:.1f}")
    report.add(TOPIC, f"{when}: submitted", tasks / submitted, "/s", "by one client, meanwhile")
    report.add(TOPIC, f"{when}: processor of the scheduler a task", own / tasks * 1000, "ms", "submissions included")
    report.add(TOPIC, f"{when}: processor of the ranks a task", children / tasks * 1000, "ms", "supervisors included")
    report.add(TOPIC, f"{when}: ticks a task", ticks / tasks, "")
    return rate


def _cpu() -> tuple[float, float]:
    """CPU seconds of this process, and of its ended children."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime, children.ru_utime + children.ru_stime


def _bare(count: int) -> float:
    began = time.perf_counter()
    for _ in range(count):
        subprocess.run(COMMAND, check=True)
    return count / (time.perf_counter() - began)


@dataclass(slots=True)
class _Service:
    loop: SchedulingLoop
    platform: Platform
    store: SqlStore

    async def submit(self, tasks: int) -> None:
        """Submit `tasks` trivial tasks, one after the other."""
        for number in range(tasks):
            await self._submit(f"t{number}", COMMAND, FREE)

    async def _submit(self, name: str, command: tuple[str, ...], group: str) -> Task:
        return await self.platform.tasks.submissions.submit(
            USER, Submission(name=name, command=command, cwd="/", nodes=1, group=group, priority=Priority.NORMAL)
        )

    async def fill(self, queued: int) -> None:
        """Submit a task that holds the only node of its group, and `queued` tasks that wait for that node."""
        # The first tick makes the node groups known, which submissions check.
        await self.loop.cycle.tick()
        await self._submit("holds", ("sleep", "infinity"), HELD)
        await self.loop.cycle.tick()
        waits = await self._submit("waits", COMMAND, HELD)
        async with self.store.write() as tx:
            spec = await tx.tasks.get_spec(waits.id)
            for number in range(queued - 1):
                await tx.tasks.add(replace(waits, name=f"waits-{number}"), spec)

    async def until_ended(self, tasks: int) -> None:
        """Wait until all trivial tasks have succeeded."""
        live = TaskFilter(group=FREE, states=frozenset(state for state in TaskState if not state.ended))
        good = TaskFilter(group=FREE, states=frozenset({TaskState.SUCCEEDED}))
        async with asyncio.timeout(_PATIENCE_S):
            while await self._any(live):  # noqa: ASYNC110  # the code under test rings for other waiters
                await asyncio.sleep(0.2)
        async with self.store.read() as tx:
            succeeded = len(await tx.tasks.page(good, before=None, limit=tasks + 1))
        assert succeeded == tasks, f"{succeeded} of {tasks} tasks have succeeded"

    async def _any(self, which: TaskFilter) -> bool:
        async with self.store.read() as tx:
            return bool(await tx.tasks.page(which, before=None, limit=1))


@contextlib.asynccontextmanager
async def _service(folder: Path) -> AsyncIterator[_Service]:
    """A scheduler with an empty database; its loop does not run yet."""
    clock = SystemClock()
    nodes = [LocalNode(node=Node(name=f"node-{n}", group=FREE)) for n in range(1, NODES + 1)]
    nodes.append(LocalNode(node=Node(name="held-1", group=HELD)))
    # No service listens there: a trivial task has ended before its supervisor asks.
    api = "http://127.0.0.1:9/api/v1"
    cluster = LocalCluster(LocalSettings(runs_dir=folder / "runs", nodes=tuple(nodes), api_url=api, term_wait_s=0.5))
    store = await open_store(f"sqlite+aiosqlite:///{folder / 'hai.sqlite'}")
    async with store.write() as tx:
        for group in (FREE, HELD):
            for priority in Priority:
                await tx.quotas.put(Quota(subject="public", group=group, priority=priority, limit=None))
    world = make_world(
        store=store,
        cluster=cluster,
        bus=MemoryBus(clock),
        clock=clock,
        settings=ServiceSettings(tasks_per_user=1_000_000),
        locations=RankLocations(api_url=api, checkpoint_root=str(folder / "checkpoints")),
        holder="bench",
    )
    loop, platform = SchedulingLoop(world, TOKENS), Platform(world)
    try:
        await loop.cycle.tick()
        yield _Service(loop, platform, store)
    finally:
        for seen in await cluster.observe():
            if not seen.gone:
                await cluster.kill(seen.run_id)
        async with asyncio.timeout(30):
            while any(not seen.gone for seen in await cluster.observe()):  # noqa: ASYNC110  # without a bell once the loop is stopped
                await asyncio.sleep(0.05)
        await cluster.close()
        await store.close()
