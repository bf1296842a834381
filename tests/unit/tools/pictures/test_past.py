"""The past of the pictures is one that the platform could have left."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path

from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.ports.values import TaskFilter
from hai_scheduler.store.store import open_store
from kit.builders import T0
from kit.databases import sqlite_url
from kit.ledger import check_ledger
from pictures.studio.lab import GONE, LOOKER, PEOPLE, WATCHED
from pictures.studio.past import play, write


def test_at_the_end_nothing_runs_and_what_goes_on_has_saved() -> None:
    past = play(T0, T0 + timedelta(days=1))
    assert set(past.states) <= {task.id for task in past.submitted}
    last = [states[-1] for states in past.states.values()]
    assert [task.name for task in last if task.live_run is not None] == []
    left = Counter(task.state for task in last)
    assert left[TaskState.SUSPENDED] > 3, "tasks that the platform resumes"
    assert left[TaskState.QUEUED] > 3, "tasks that wait for their first turn"
    told = [task for task in last if task.reason is Reason.PAUSED]
    assert WATCHED in {task.name for task in told}
    assert all(task.run is not None and task.run.ended_at is not None for task in told)


async def test_the_platform_finds_its_ledger_in_order(tmp_path: Path) -> None:
    url = sqlite_url(tmp_path / "hai.sqlite")
    await write(url, "/work", T0 + timedelta(days=1, hours=9), days=1)
    store = await open_store(url)
    try:
        assert await check_ledger(store) > 20
        async with store.read() as tx:
            users = {user.name for user in await tx.users.all()}
            mine = await tx.tasks.page(TaskFilter(user=LOOKER), before=None, limit=100)
            (newest, *_) = [task for task in mine if task.name == WATCHED]
        assert users > {*PEOPLE, GONE}
        assert newest.run is not None
        until = round(newest.run.ended_at.timestamp()) if newest.run.ended_at else 0
        series = await store.series.read(newest.run.id, since=until - 3600, until=until, step=10)
        assert set(series) == {0, 1, 2, 3}
    finally:
        await store.close()
