"""A SQLite file on a disk that gets full: said so, worth another try, and nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from hai_scheduler.ports.errors import Temporary
from hai_scheduler.store.store import open_store
from kit.databases import sqlite_url
from kit.disks import fill, small_disk


async def test_a_full_disk_is_told_from_a_database_that_is_away() -> None:
    with small_disk("4m") as disk:
        await fill_and_free(disk)


async def fill_and_free(disk: Path) -> None:
    store = await open_store(sqlite_url(disk / "hai.sqlite"))
    async with store.write() as tx:
        await tx.settings.put("word", "kept")
    assert not store.disk_full()
    filler = disk / "filler"
    fill(filler)
    assert store.disk_full()

    async def write_much() -> None:
        for number in range(1000):
            async with store.write() as tx:
                await tx.settings.put(f"more-{number}", "x" * 10_000)

    with pytest.raises(Temporary, match="full"):
        await write_much()
    filler.unlink()
    assert not store.disk_full()
    async with store.write() as tx:
        await tx.settings.put("word", f"{await tx.settings.get('word')}, and more")
    async with store.read() as tx:
        assert await tx.settings.get("word") == "kept, and more"
    await store.close()
