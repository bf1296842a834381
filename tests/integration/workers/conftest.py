"""A store in a file, with a queue that takes any time to foresee, and worker processes beside it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.task import TaskSpec
from hai_scheduler.ports.secret import Secret
from hai_scheduler.store.store import SqlStore, open_store
from hai_scheduler.worker.pool import ProcessWorkers
from kit.builders import T0, a_task
from kit.databases import sqlite_url


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlStore]:
    made = await open_store(sqlite_url(tmp_path / "hai.sqlite"))
    async with made.write() as tx:
        await tx.quotas.put(Quota(subject="public", group="training", priority=Priority.NORMAL, limit=None))
        await tx.quotas.put(Quota(subject="public", group="training", priority=Priority.LOW, limit=None))
        for number in range(1, 301):
            # A task that saves when it leaves may be told to leave again and again.
            left = timedelta(seconds=1)
            task = a_task(number, user=f"user-{number % 7}", nodes=1 + number % 3, submitted_at=T0, leaving_took=left)
            await tx.tasks.add(task, TaskSpec(command=("x",), cwd="/"))
    yield made
    await made.close()


@pytest.fixture
async def workers(store: SqlStore, tmp_path: Path) -> AsyncIterator[ProcessWorkers]:
    made = ProcessWorkers(Secret(sqlite_url(tmp_path / "hai.sqlite")), number=1)
    yield made
    await made.close()
