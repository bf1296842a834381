"""Who is archived, as every request asks it."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest

from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.values import ArchivedUser
from hai_scheduler.service.shared.archived_names import BELIEVED_S, ArchivedNames, archived_sentence
from kit.builders import T0
from kit.memory.clock import VirtualClock
from kit.stores import ScratchStore


class CountedStore(ScratchStore):
    """A store that counts its views, and fails on demand."""

    views = 0
    fails = False

    def read(self):
        self.views += 1
        return super().read() if not self.fails else self._broken()

    @asynccontextmanager
    async def _broken(self):
        raise Temporary("no database")
        yield


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def store() -> CountedStore:
    return CountedStore()


async def archive(store: ScratchStore, name: str) -> None:
    async with store.write() as tx:
        await tx.users.archive(ArchivedUser(name=name, at=T0, by="root"))


async def test_requests_at_the_same_time_share_one_reading(store: CountedStore, clock: VirtualClock) -> None:
    await archive(store, "ann")
    names = ArchivedNames(store=store, clock=clock)
    assert await asyncio.gather(*(names.includes(name) for name in ("ann", "bob") * 20)) == [True, False] * 20
    assert store.views == 1


async def test_an_answer_is_believed_for_two_seconds(store: CountedStore, clock: VirtualClock) -> None:
    names = ArchivedNames(store=store, clock=clock)
    assert not await names.includes("ann")
    await archive(store, "ann")
    assert not await names.includes("ann")
    names.forget()
    assert await names.includes("ann")
    await archive(store, "bob")
    await clock.advance(BELIEVED_S)
    assert await names.includes("bob")


async def test_without_the_database_the_last_answer_counts(store: CountedStore, clock: VirtualClock) -> None:
    await archive(store, "ann")
    names = ArchivedNames(store=store, clock=clock)
    assert await names.includes("ann")
    store.fails = True
    await clock.advance(60)
    assert await names.includes("ann")
    with pytest.raises(Temporary):
        await ArchivedNames(store=store, clock=clock).includes("ann")


def test_the_sentence_names_the_user_and_the_remedy() -> None:
    assert archived_sentence("ann") == (
        "The user ann is archived: ask an admin to restore this user (`hai admin user restore ann`)."
    )
