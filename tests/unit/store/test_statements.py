"""The statements of a transaction: what is written together, in which order, and what is refused."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Column, Integer, MetaData, String, Table, bindparam, delete, event, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from hai_scheduler.store.engine import connect, parse
from hai_scheduler.store.statements import SUMMED, Statements, how_far
from hai_scheduler.store.tables import SETTINGS
from kit.databases import sqlite_url

FRUIT = Table("fruit", MetaData(), Column("name", String, primary_key=True), Column("count", Integer))
RECOUNT = update(FRUIT).where(FRUIT.c.name == bindparam("_name")).values(count=bindparam("_count"))


class NotThere(Exception):
    """A row was not written."""


class Fruit:
    """A table with one row, an open transaction on it, and the trips to the database since then."""

    def __init__(self, connection: AsyncConnection, trips: list[str]) -> None:
        self.connection = connection
        self.trips = trips
        self.statements = Statements(connection, writing=True)

    async def counts(self) -> dict[str, int]:
        return {row.name: row.count for row in await self.statements.ask(select(FRUIT))}


@pytest.fixture
async def table(tmp_path: Path) -> AsyncIterator[Fruit]:
    engine = connect(parse(sqlite_url(tmp_path / "fruit.sqlite")))
    async with engine.connect() as connection:
        await connection.run_sync(FRUIT.metadata.create_all)
        await connection.execute(insert(FRUIT), {"name": "apple", "count": 1})
        trips: list[str] = []

        @event.listens_for(engine.sync_engine, "before_cursor_execute")
        def note(_conn: object, _cursor: object, statement: str, *_: object) -> None:
            trips.append(statement.split()[0])

        yield Fruit(connection, trips)
    await engine.dispose()


async def test_rows_of_a_statement_go_together_before_the_next_query(table: Fruit) -> None:
    for name in ("apple", "pear", "plum"):
        table.statements.put(FRUIT, {"name": name, "count": 5})
    assert table.trips == []
    assert await table.counts() == {"apple": 5, "pear": 5, "plum": 5}
    assert table.trips == ["INSERT", "SELECT"]
    await table.statements.flush()
    assert table.trips == ["INSERT", "SELECT"]


async def test_a_statement_that_must_change_each_row_comes_first_and_says_which_rows_it_has(table: Fruit) -> None:
    refused: list[Sequence[Mapping[str, Any]]] = []

    async def refuse(rows: Sequence[Mapping[str, Any]]) -> None:
        refused.append(rows)
        raise NotThere

    table.statements.put(FRUIT, {"name": "pear", "count": 2})
    table.statements.change_later(RECOUNT, [{"_name": "apple", "_count": 7}], refuse=refuse)
    assert await table.counts() == {"apple": 7, "pear": 2}
    assert table.trips == ["UPDATE", "INSERT", "SELECT"]

    table.statements.put(FRUIT, {"name": "plum", "count": 3})
    table.statements.change_later(RECOUNT, [{"_name": "apple", "_count": 8}], refuse=refuse)
    table.statements.change_later(RECOUNT, [{"_name": "fig", "_count": 9}], refuse=refuse)
    with pytest.raises(NotThere):
        await table.statements.flush()
    assert refused == [[{"_name": "apple", "_count": 8}, {"_name": "fig", "_count": 9}]]
    assert "plum" not in await table.counts(), "what waited is dropped: the transaction is rolled back"


async def test_without_a_refusal_any_number_of_rows_is_right(table: Fruit) -> None:
    table.statements.change_later(RECOUNT, [{"_name": "fig", "_count": 9}])
    assert await table.counts() == {"apple": 1}


async def test_what_a_summary_shows_counts_when_it_is_written(table: Fruit) -> None:
    await table.counts()
    table.statements.put(FRUIT, {"name": "pear", "count": 2})
    await table.statements.change(RECOUNT, {"_name": "pear", "_count": 3})
    assert table.statements.writes == 0
    await table.statements.change(text("DELETE FROM fruit"))
    assert table.statements.writes == 1
    for written, shown in enumerate(sorted(SUMMED, key=str), 2):
        table.statements.change_later(delete(shown), [{}])
        assert table.statements.writes == written


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_all_tables_of_a_summary_are_known(dialect: str) -> None:
    shown = set(re.findall(r"(?:FROM|JOIN) (hai_\w+)", str(how_far(dialect))))
    # Its two rows of settings are written with a table that counts, or known to who writes them.
    assert shown - {SETTINGS.name, "hai_tasks_id_seq"} == {table.name for table in SUMMED}


async def test_a_view_refuses_writes_and_the_end_refuses_all(table: Fruit) -> None:
    view = Statements(table.connection, writing=False)
    with pytest.raises(RuntimeError, match="read view"):
        view.put(FRUIT, {"name": "pear", "count": 2})
    with pytest.raises(RuntimeError, match="read view"):
        await view.change(delete(FRUIT))
    await view.ask(select(FRUIT))
    view.end()
    with pytest.raises(RuntimeError, match="is over"):
        await view.ask(select(FRUIT))
