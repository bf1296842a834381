"""A store that is closed while somebody still uses it keeps no connection (SqlStore.close)."""

from __future__ import annotations

from typing import Any

from sqlalchemy import event

from contract.store_kit import Opener
from hai_scheduler.store.store import SqlStore


async def test_a_connection_that_is_in_use_when_the_store_is_closed_is_closed_after_its_use(opener: Opener) -> None:
    store = await opener()
    async with store.read() as one:
        async with store.read():
            pass
        closed = _closings(store)
        await store.close()
        assert (await one.database.mark()).steps == 0
        before = len(closed)
    assert len(closed) == before + isinstance(store, SqlStore)


def _closings(store: Any) -> list[object]:
    """The connections that the store closes from now on."""
    closed: list[object] = []
    if isinstance(store, SqlStore):
        event.listen(store.engine.sync_engine, "close", lambda connection, _: closed.append(connection))
    return closed
