"""What is written down of users who send requests."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from hai_scheduler.api.server.problems import Refused
from hai_scheduler.api.server.user_book import VISIT_EVERY_S, UserBook
from hai_scheduler.ports.values import ArchivedUser
from hai_scheduler.service.shared.archived_names import ArchivedNames
from hai_scheduler.service.shared.caller import SCOPE_ADMIN, Caller
from kit.builders import T0
from kit.memory.clock import VirtualClock
from kit.stores import ScratchStore

ANN = Caller(name="ann", groups=frozenset({"cv"}))
ADMIN = Caller(name="ann", groups=frozenset({"cv"}), scopes=frozenset({SCOPE_ADMIN}))


class CountedStore(ScratchStore):
    writes = 0

    def write(self):
        self.writes += 1
        return super().write()


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def store() -> CountedStore:
    return CountedStore()


@pytest.fixture
def book(store: CountedStore, clock: VirtualClock) -> UserBook:
    return UserBook(store, clock, ArchivedNames(store=store, clock=clock))


async def test_many_first_requests_write_once(store: CountedStore, book: UserBook) -> None:
    await asyncio.gather(*(book.see(ANN) for _ in range(10)))
    assert store.writes == 1
    async with store.read() as tx:
        assert [user.groups for user in await tx.users.all()] == [{"cv"}]


async def test_a_visit_is_written_every_ten_minutes(store: CountedStore, book: UserBook, clock: VirtualClock) -> None:
    await book.see(ANN)
    await clock.advance(VISIT_EVERY_S - 1)
    await book.see(ANN)
    assert store.writes == 1
    await clock.advance(1)
    await book.see(ANN)
    async with store.read() as tx:
        visit = (await tx.users.visits())["ann"]
    assert (store.writes, visit.seen_at, visit.admin_at) == (2, clock.now(), None)


async def test_an_admin_s_right_is_written_at_once_and_stays(
    store: CountedStore, book: UserBook, clock: VirtualClock
) -> None:
    await book.see(ANN)
    await clock.advance(5)
    await book.see(ADMIN)
    since = clock.now()
    await clock.advance(VISIT_EVERY_S + 5)
    await book.see(ANN)
    async with store.read() as tx:
        visit = (await tx.users.visits())["ann"]
    assert (visit.admin_at, visit.seen_at) == (since, since + timedelta(seconds=VISIT_EVERY_S + 5))
    assert store.writes == 3


async def test_services_are_not_written_down_nor_archived(store: CountedStore, book: UserBook) -> None:
    async with store.write() as tx:
        await tx.users.archive(ArchivedUser(name="service:ann", at=T0, by="root"))
    await book.see(Caller(name="service:ann", kind="service"))
    assert store.writes == 1


async def test_an_archived_user_is_refused_and_not_written(store: CountedStore, book: UserBook) -> None:
    async with store.write() as tx:
        await tx.users.archive(ArchivedUser(name="ann", at=T0, by="root"))
    for act in (book.see(ANN), book.check(ANN)):
        with pytest.raises(Refused, match="ann is archived") as caught:
            await act
        assert caught.value.code == "forbidden"
    assert store.writes == 1
