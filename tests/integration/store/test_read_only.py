"""A PostgreSQL that turns read-only, as a standby does: nothing is lost, and it goes on when it takes changes again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hai_scheduler.ports.errors import Temporary
from hai_scheduler.store.store import open_store
from kit.databases import PostgresServer, own_postgres
from kit.waiting import until


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with own_postgres() as found:
        found.start()
        yield found


async def test_a_write_is_worth_another_try_and_reading_goes_on(server: PostgresServer) -> None:
    store = await open_store(server.url)

    async def writes(word: str) -> str:
        try:
            async with store.write() as tx:
                await tx.settings.put("word", word)
        except Temporary as error:
            return str(error)
        return "written"

    assert await writes("one") == "written"
    server.read_only(True)
    await until("a refusal", lambda: writes("two"), met=lambda said: said != "written")
    assert "takes no changes now" in await writes("three")
    assert "read-only" in await writes("three")
    async with store.read() as tx:
        assert await tx.settings.get("word") in ("one", "two")
    server.read_only(False)
    await until("a write", lambda: writes("four"), met=lambda said: said == "written")
    async with store.read() as tx:
        assert await tx.settings.get("word") == "four"
    await store.close()
