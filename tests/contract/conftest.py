"""Stores of every adapter, for the contract suites."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contract.store_kit import Opener, checked_out
from hai_scheduler.ports.store import Store
from hai_scheduler.store.store import SqlStore, open_store
from kit.databases import empty_postgres, postgres_url, sqlite_url
from kit.memory.store import MemoryStore


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with all tables: to copy it is faster than to migrate."""
    path = tmp_path_factory.mktemp("template") / "hai.sqlite"

    async def make() -> None:
        await (await open_store(sqlite_url(path))).close()

    asyncio.run(make())
    return path


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def opener(request: pytest.FixtureRequest, tmp_path: Path, template: Path) -> AsyncIterator[Opener]:
    """A function that opens stores on the same state; at the end no connection may be checked out."""
    if request.param == "memory":
        memory = MemoryStore()

        async def the_same() -> Store:
            return memory

        yield the_same
        return
    if request.param == "sqlite":
        shutil.copy(template, tmp_path / "hai.sqlite")
        url = sqlite_url(tmp_path / "hai.sqlite")
    else:
        url = postgres_url()
        await (await open_store(url)).close()
        await empty_postgres(url)
    opened: list[SqlStore] = []

    async def open_again() -> Store:
        opened.append(await open_store(url))
        return opened[-1]

    yield open_again
    for store in opened:
        left = checked_out(store)
        await store.close()
        assert left == 0


@pytest.fixture
async def store(opener: Opener) -> Store:
    return await opener()
