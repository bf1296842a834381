"""The service of `bench metrics`: the interface over a store in a file, and many ranks that run.

`python -m bench.metrics_service FOLDER TASKS RANKS`: that many tasks with as many ranks each.
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from hai_scheduler.adapters.system.clock import SystemClock
from hai_scheduler.adapters.system.local_bus import MemoryBus
from hai_scheduler.api.server.platform import Platform
from hai_scheduler.core.model.task import TaskSpec, TaskState
from hai_scheduler.ports.secret import Secret
from hai_scheduler.service.launch.run_tokens import RunTokens
from hai_scheduler.store.store import open_store
from integration.api.conftest import PREFIX, served
from kit.builders import T0, a_run, a_task
from kit.databases import sqlite_url
from kit.worlds import make_world


async def main(folder: Path, tasks: int, ranks: int) -> None:
    clock = SystemClock()
    store, tokens = await open_store(sqlite_url(folder / "hai.sqlite")), RunTokens(Secret("run secret"))
    runs: dict[str, str] = {}
    async with store.write() as tx:
        for _ in range(tasks):
            new = a_task(user="admin", submitted_at=T0, nodes=ranks)
            task = await tx.tasks.add(new, TaskSpec(command=("x",), cwd="/"))
            run = a_run(task.id, nodes=ranks)
            await tx.tasks.save(replace(task, state=TaskState.RUNNING, run=run))
            runs[run.id] = tokens.make(run.id).reveal()
    cluster: Any = None
    world = make_world(store=store, cluster=cluster, bus=MemoryBus(clock), clock=clock, holder="bench")
    platform = Platform(world)
    async with served(platform, tokens) as (root, _, _):
        print(json.dumps({"url": f"{root}{PREFIX}api/v1", "runs": runs}), flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
