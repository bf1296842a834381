"""The scheduler service's own parts over a real API server, in this process: no Hub, no REST, a real database."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from hai_scheduler.adapters.kubernetes.cluster import open_cluster
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.adapters.system.clock import SystemClock
from hai_scheduler.api.server.platform import Platform
from hai_scheduler.app.loop import SchedulingLoop
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.leaving import Profile
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.task import Task
from hai_scheduler.service.shared.caller import SCOPE_ADMIN, Caller
from hai_scheduler.service.shared.settings import ServiceSettings
from hai_scheduler.service.shared.world import RankLocations
from hai_scheduler.service.tasks.submission import Submission
from hai_scheduler.store.store import open_store
from kit.worlds import TOKENS, make_world

GROUP = "bench"
USER = Caller(name="bench")
ADMIN = Caller(name="admin", scopes=frozenset({SCOPE_ADMIN}))


@dataclass(slots=True)
class Service:
    """A running scheduler."""

    loop: SchedulingLoop
    platform: Platform

    async def submit(self, name: str, nodes: int, priority: Priority = Priority.NORMAL) -> TaskId:
        """Submit a task that saves nothing and leaves at once; returns its id."""
        task = await self.platform.tasks.submissions.submit(
            USER,
            Submission(
                name=name,
                command=("sleep", "infinity"),
                cwd="/",
                nodes=nodes,
                group=GROUP,
                priority=priority,
                profile=Profile.KILL,
                grace=timedelta(0),
            ),
        )
        return task.id

    async def pause(self) -> None:
        """Pause the platform, so that no task starts."""
        await self.platform.administration.pause(ADMIN)

    async def go_on(self) -> None:
        """End the pause, so that waiting tasks start."""
        await self.platform.administration.unpause(ADMIN)

    async def tasks(self) -> list[Task]:
        """The tasks that have not ended."""
        async with self.platform.world.store.read() as tx:
            return list(await tx.tasks.unfinished())

    async def stop(self, tasks: Iterable[TaskId]) -> None:
        """Stop the tasks all at once, as many users would."""
        await asyncio.gather(*(self.platform.tasks.submissions.stop(USER, str(task)) for task in tasks))


@contextlib.asynccontextmanager
async def service(folder: Path, settings: ClusterSettings) -> AsyncIterator[Service]:
    """A scheduler with an empty database; its loop runs."""
    clock = SystemClock()
    store = await open_store(f"sqlite+aiosqlite:///{folder / 'hai.sqlite'}")
    cluster = await open_cluster(settings, store.logs, clock)
    async with store.write() as tx:
        for priority in Priority:
            await tx.quotas.put(Quota(subject="public", group=GROUP, priority=priority, limit=None))
    world = make_world(
        store=store,
        cluster=cluster,
        clock=clock,
        settings=ServiceSettings(starts_at_once=settings.parallel),
        locations=RankLocations(api_url=settings.api_url, checkpoint_root="/tmp"),  # nothing is written
        holder="bench",
    )
    loop = SchedulingLoop(world, TOKENS)
    scheduling = asyncio.create_task(loop.cycle.run())
    try:
        yield Service(loop, Platform(world))
    finally:
        await loop.cycle.stop()
        await scheduling
        await cluster.close()
        await store.close()
