"""A service on a real database that is taken back to an older state: SQLite and PostgreSQL (decision 0016)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select, text

from hai_scheduler.core.model.ids import RunId
from hai_scheduler.service.origin.orphan_registry import read_orphans
from hai_scheduler.store.store import SqlStore, open_store
from hai_scheduler.store.tables import LEASE, METADATA
from kit.databases import empty_postgres, postgres_url, sqlite_url
from kit.memory.behaviour import Behaviour
from kit.memory.cluster import notices_of
from unit.service.service_world import Service

LONG = Behaviour(work=timedelta(hours=9))
#: The columns that count by themselves, by table.
COUNTERS = {"hai_tasks": "id", "hai_events": "seq", "hai_strikes": "id"}


@pytest.fixture(params=["sqlite", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SqlStore]:
    if request.param == "sqlite":
        url = sqlite_url(tmp_path / "hai.sqlite")
    else:
        url = postgres_url()
        await (await open_store(url)).close()
        await empty_postgres(url)
    store = await open_store(url)
    yield store
    await store.close()


class Dump:
    """Every row of every table, and what the database counts: as a dump of it holds them."""

    def __init__(self, store: SqlStore) -> None:
        self._engine = store.engine
        self._rows: dict[str, list[dict[str, Any]]] = {}
        self._counters: dict[str, int] = {}

    async def take(self) -> Dump:
        async with self._engine.connect() as connection:
            for table in METADATA.sorted_tables:
                self._rows[table.name] = [dict(row._mapping) for row in await connection.execute(select(table))]
            if self._engine.dialect.name == "sqlite":
                rows = await connection.execute(text("SELECT name, seq FROM sqlite_sequence"))
                self._counters = {row.name: row.seq for row in rows}
            else:
                for table, column in COUNTERS.items():
                    asked = text(f"SELECT last_value, is_called FROM {table}_{column}_seq")
                    last, called = (await connection.execute(asked)).one()
                    self._counters[table] = last if called else 0
        return self

    async def put_back(self) -> None:
        """All but the lease: it would only have to run out."""
        async with self._engine.begin() as connection:
            tables = [table for table in METADATA.sorted_tables if table is not LEASE]
            for table in reversed(tables):
                await connection.execute(table.delete())
            for table in tables:
                if self._rows[table.name]:
                    await connection.execute(insert(table), self._rows[table.name])
            if self._engine.dialect.name == "sqlite":
                await connection.execute(text("DELETE FROM sqlite_sequence"))
                for name, seq in self._counters.items():
                    row = {"name": name, "seq": seq}
                    await connection.execute(text("INSERT INTO sqlite_sequence VALUES (:name, :seq)"), row)
                return
            for table, column in COUNTERS.items():
                last = self._counters[table]
                set_it = text(f"SELECT setval('{table}_{column}_seq', :last, :called)")
                await connection.execute(set_it, {"last": max(1, last), "called": last > 0})


async def test_no_id_is_given_again_and_no_run_is_taken_for_another(store: SqlStore) -> None:
    service = Service(nodes=3)
    service.store = store  # type: ignore[assignment]
    service.cluster.notices = notices_of(store)
    service.restart()
    await service.open()
    known = await service.submit("known", "alice", does=LONG)
    await service.step(1)
    dump = await Dump(store).take()
    ended = await service.submit("ended", "alice", does=Behaviour(work=timedelta(seconds=5)))
    stray = await service.submit("stray", "alice", does=LONG)
    await service.step(1)
    await service.step(30)
    assert await service.states(known, ended, stray) == ["running", "succeeded", "running"]

    await dump.put_back()
    service.restart()
    await service.step(10, ticks=5)
    new = await service.submit("new", "bob", does=Behaviour(work=timedelta(seconds=5)))
    await service.step(1)
    assert new > stray
    assert await service.states(known, new) == ["running", "running"]
    async with store.read() as tx:
        orphans = await read_orphans(tx)
        mark = await tx.database.mark()
    assert [orphan.run_id for orphan in orphans] == [RunId(f"{stray}.1")]
    assert (mark.epoch, mark.task) == (2, new)
    assert list(service.cluster.record.aside) == [RunId(f"{ended}.1")]
    assert service.cluster.record.kills == []
    await service.step(30)
    assert await service.states(new) == ["succeeded"]
    (told,) = await service.events("database.epoch")
    assert told.data["first_task"] == new
