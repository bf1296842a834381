"""The service of `bench followers`: the interface over a store in a file, and a task whose log is in a folder."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from hai_scheduler.adapters.shared.log_parts import read_log
from hai_scheduler.adapters.system.clock import SystemClock
from hai_scheduler.adapters.system.local_bus import MemoryBus
from hai_scheduler.api.server.platform import Platform
from hai_scheduler.core.model.task import TaskSpec, TaskState
from hai_scheduler.ports.logs import LogChunk, LogPlace
from hai_scheduler.ports.secret import Secret
from hai_scheduler.service.launch.run_tokens import RunTokens
from hai_scheduler.service.shared.topics import FEED
from hai_scheduler.store.store import open_store
from integration.api.conftest import served
from integration.api.fakes import a_user_model
from kit.builders import T0, a_run, a_task
from kit.databases import sqlite_url
from kit.worlds import make_world

#: Users who follow the same task, which all of them may read: streams are limited for each user.
USERS = 8
#: Events of other tasks, each second, as on a platform of a few users.
RINGS_A_SECOND = 5


class OneLog:
    """A cluster that only has a log in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def read_log(self, _run_id: str, _rank: int, *, offset: int, limit: int) -> LogChunk:
        return await asyncio.to_thread(read_log, self._folder, offset=offset, limit=limit, final=False)

    def log_place(self, _run_id: str) -> LogPlace | None:
        return None


async def main(folder: Path) -> None:
    clock = SystemClock()
    bus, store = MemoryBus(clock), await open_store(sqlite_url(folder / "hai.sqlite"))
    async with store.write() as tx:
        task = await tx.tasks.add(a_task(user="admin", submitted_at=T0), TaskSpec(command=("x",), cwd="/"))
        await tx.tasks.save(replace(task, state=TaskState.RUNNING, run=a_run(task.id)))
    cluster: Any = OneLog(folder / "log")
    tokens = RunTokens(Secret("run secret"))
    world = make_world(store=store, cluster=cluster, bus=bus, clock=clock, holder="bench")
    platform = Platform(world)
    async with served(platform, tokens) as (root, hub, _):
        scopes = ("custom:hai:tasks:read", "custom:hai:admin")
        hub.tokens |= {f"user-{number}": a_user_model(f"user-{number}", *scopes) for number in range(USERS)}
        print(root, flush=True)
        while True:
            await asyncio.sleep(1 / RINGS_A_SECOND)
            await bus.ring(FEED)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
