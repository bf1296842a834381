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
from hai_scheduler.app.opening import Adapters
from hai_scheduler.core.model.task import TaskSpec, TaskState
from hai_scheduler.ports.secret import Secret
from hai_scheduler.service.launch.run_tokens import RunTokens
from hai_scheduler.service.shared.settings import ServiceSettings
from hai_scheduler.service.workspace.rank_env import RankLocations
from hai_scheduler.store.store import open_store
from integration.api.conftest import PREFIX, served
from kit.both_roles import assemble
from kit.builders import T0, a_run, a_task
from kit.databases import sqlite_url


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
    parts = assemble(
        Adapters(store=store, cluster=cluster, bus=MemoryBus(clock), clock=clock),
        ServiceSettings(),
        tokens=tokens,
        locations=RankLocations(api_url="http://127.0.0.1/", checkpoint_root="/c"),
        holder="bench",
    )
    async with served(parts.services, tokens) as (root, _, _):
        print(json.dumps({"url": f"{root}{PREFIX}api/v1", "runs": runs}), flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
