"""The database tells how long it takes, by few words."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from hai_scheduler.ports.errors import Temporary
from hai_scheduler.store.engine import op_of
from hai_scheduler.store.store import open_store
from kit.databases import sqlite_url


class Told:
    """What was told, by statement."""

    def __init__(self) -> None:
        self.ops: Counter[str] = Counter()
        self.least = 0.0

    def database(self, op: str, seconds: float) -> None:
        self.ops[op] += 1
        self.least = min(self.least, seconds)

    def cluster(self, verb: str, code: str, seconds: float) -> None:
        raise AssertionError("the database knows no cluster")


@pytest.mark.parametrize(
    ("statement", "op"),
    [
        ("SELECT 1", "select"),
        ("\n  insert INTO x", "insert"),
        ("UPDATE hai_tasks", "update"),
        ("DELETE FROM x", "delete"),
        ("BEGIN IMMEDIATE", "other"),
        ("WITH a AS (SELECT 1) SELECT", "other"),
        ("", "other"),
    ],
)
def test_a_statement_is_one_of_few_words(statement: str, op: str) -> None:
    assert op_of(statement) == op


async def test_reads_writes_and_commits_are_timed(tmp_path: Path) -> None:
    told = Told()
    store = await open_store(sqlite_url(tmp_path / "hai.sqlite"), told)
    try:
        told.ops.clear()
        async with store.read() as tx:
            await tx.settings.get("paused")
        assert told.ops["select"] >= 1
        assert told.ops["turn"] == told.ops["commit"] == 0, "a view neither waits nor commits"
        async with store.write() as tx:
            await tx.settings.put("paused", "now")
        assert told.ops["turn"] == told.ops["commit"] == 1
        assert told.ops["insert"] >= 1
        with pytest.raises(Temporary):
            async with store.write() as tx:
                raise Temporary("something else")
        assert (told.ops["turn"], told.ops["commit"]) == (2, 1), "what is rolled back is no commit"
        assert told.least == 0.0, "time does not go backwards"
    finally:
        await store.close()
