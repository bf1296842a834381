"""What a release has written into its database is read, and gone on from, by this tree; on SQLite and PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import date
from pathlib import Path

import pytest

from ci import last_release
from hai_scheduler.core.costs.rates import Rate
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.store.engine import connect, parse
from hai_scheduler.store.store import Store, open_store
from kit.builders import a_spec, a_task
from kit.databases import empty_postgres, postgres_url, sqlite_url
from upgrade.releases import KEPT, RELEASES, put

#: Bytes of a file at most: the files of all releases stay.
MOST = 200_000


@pytest.fixture(params=["sqlite", "postgres"])
async def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return sqlite_url(tmp_path / "hai.sqlite")
    url = postgres_url()
    await empty_postgres(url, drop=True)
    return url


@pytest.fixture(params=RELEASES)
async def store(request: pytest.FixtureRequest, url: str) -> AsyncIterator[Store]:
    """The store of this tree, on what a release has filled."""
    engine = connect(parse(url))
    await put(engine, request.param)
    await engine.dispose()
    store = await open_store(url)
    yield store
    await store.close()


def test_the_last_release_has_both_files_and_they_are_small() -> None:
    assert last_release.VERSION in RELEASES
    files = [KEPT / f"{version}.{kind}.gz" for version in RELEASES for kind in ("sqlite", "sql")]
    assert sorted(KEPT.iterdir()) == sorted(files)
    assert [file.name for file in files if file.stat().st_size > MOST] == []


async def test_tasks_are_in_their_states(store: Store) -> None:
    async with store.read() as tx:
        tasks = [await tx.tasks.get(TaskId(number)) for number in range(1, 8)]
        assert {(task.name, str(task.state)) for task in tasks} == {
            ("done", "succeeded"),
            ("broken", "failed"),
            ("left", "suspended"),
            ("urgent", "running"),
            ("stopped", "stopped"),
            ("waiting", "queued"),
            ("of-bob", "queued"),
        }
        assert {task.name for task in await tx.tasks.unfinished()} == {"left", "urgent", "waiting", "of-bob"}
        waiting, of_bob = tasks[5], tasks[6]
        assert (waiting.user, waiting.nodes, waiting.priority, waiting.held) == ("ann", 2, Priority.LOW, True)
        assert of_bob.user == "bob"
        spec = await tx.tasks.get_spec(waiting.id)
        assert (spec.command[:2], spec.env, spec.cwd) == (("sh", "-c"), {"WORD": "值"}, "/")
        assert await tx.labels.tags([waiting.id]) == {waiting.id: ("sweep", "later")}
        assert await tx.labels.starred("ann", [TaskId(1)]) == {1}


async def test_runs_and_what_they_used_are_there(store: Store) -> None:
    async with store.read() as tx:
        (done,) = await tx.runs.of_task(TaskId(1))
        (broken,) = await tx.runs.of_task(TaskId(2))
        (left,) = await tx.runs.of_task(TaskId(3))
        assert [rank.exit_code for rank in done.ranks] == [0]
        assert [rank.exit_code for rank in broken.ranks] == [3, 3]
        assert len(left.nodes) == 4
        ledger = await tx.ledger.of_runs([done.id, broken.id, left.id])
        assert set(ledger) == {done.id, broken.id, left.id}
        assert (await tx.database.mark()).task == 7
    series = await store.series.newer(RunId("4.1"), {0: 0, 1: 0, 2: 0})
    assert set(series) == {0, 1, 2}
    assert all(points and "memory" in points[0].values for points in series.values())


async def test_what_admins_have_set_holds(store: Store) -> None:
    async with store.read() as tx:
        (bobs,) = [quota for quota in await tx.quotas.all() if str(quota.subject) == "user:bob"]
        assert (bobs.priority, bobs.limit, bobs.ceiling) == (Priority.NORMAL, 2, 3)
        assert await tx.nodes.marks() == {"node-4": NodeMark.CORDONED}
        (rate,) = await tx.rates.all()
        assert isinstance(rate, Rate)
        assert (rate.valid_from, str(rate.per_gpu_hour), rate.currency) == (date(2026, 11, 1), "1.20", "EUR")
        (budget,) = await tx.budgets.all()
        assert (budget.group, str(budget.limit), budget.window_days) == ("cv", "500", 30)
        policy = json.loads(await tx.settings.get("policy") or "")
        assert policy["all"]["slice"]["by"] == "ann"
        assert [rule.name for rule in await tx.mount_rules.all()] == ["scratch"]


async def test_no_id_is_given_again(store: Store) -> None:
    async with store.write() as tx:
        assert (await tx.tasks.add(a_task(), a_spec())).id == 8
