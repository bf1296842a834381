"""Events are read once for all streams, and each reader gets their own, once."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from hai_scheduler.service.insight.feed import Feed
from hai_scheduler.service.insight.queries import EVERYBODY
from hai_scheduler.service.shared import news
from hai_scheduler.service.shared.caller import Caller
from kit.stores import ScratchStore
from kit.waiting import until
from unit.service.followers_kit import ADMIN, ALICE, World, a_world


@pytest.fixture
async def world() -> World:
    return await a_world()


async def test_events_are_read_once_for_all_streams(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[list[int]] = [[] for _ in range(30)]
    jobs = [asyncio.create_task(_listen(world.feed, ADMIN, heard[n], 0)) for n in range(30)]
    await world.happens("task.submitted")
    await until("all to hear", lambda: all(heard))
    looks = []
    real = ScratchStore.read
    monkeypatch.setattr(ScratchStore, "read", lambda store: looks.append(1) or real(store))
    for _ in range(5):
        await world.happens("task.state")
    await until("all to hear six events", lambda: all(len(one) == 6 for one in heard))
    assert len(looks) < 30
    for job in jobs:
        job.cancel()
    await asyncio.gather(*jobs, return_exceptions=True)
    assert not world.bus._listeners


@pytest.mark.parametrize("held", [1, 4, 1000])
async def test_every_reader_gets_each_of_their_events_once(
    world: World, monkeypatch: pytest.MonkeyPatch, held: int
) -> None:
    monkeypatch.setattr(news, "HELD", held)
    monkeypatch.setattr("hai_scheduler.service.insight.feed.PAGE", 3)
    monkeypatch.setattr(news, "PAGE", 3)
    mine: list[int] = []
    everything: list[int] = []
    early: list[int] = []
    jobs = [asyncio.create_task(_listen(world.feed, ADMIN, early, 0))]
    for number in range(40):
        await world.happens("task.state", user="alice" if number % 3 else "bob", task_id=number)
        if number == 20:
            jobs.append(asyncio.create_task(_listen(world.feed, ALICE, mine, 5)))
            jobs.append(asyncio.create_task(_listen(world.feed, ADMIN, everything, 0)))
        if number % 4 == 0:
            await asyncio.sleep(0)
    await until(
        "each reader to have the last event that it may see",
        lambda: (early[-1:], everything[-1:], mine[-1:]) == ([40], [40], [39]),
    )
    assert early == everything == list(range(1, 41))
    assert mine == [seq for seq in range(6, 41) if (seq - 1) % 3]
    for job in jobs:
        job.cancel()
    await asyncio.gather(*jobs, return_exceptions=True)


async def test_a_user_without_news_is_not_read_for_again_and_again(world: World) -> None:
    for _ in range(3):
        await world.happens("task.state", user="bob", task_id=9)
    stream = world.feed.follow(ALICE, after=0)
    async with aclosing(stream):
        assert await anext(stream) is None
        assert await anext(stream) is None


async def _listen(feed: Feed, caller: Caller, heard: list[int], after: int) -> None:
    stream = feed.follow(caller, after=after, user=EVERYBODY if caller.admin else None)
    async with aclosing(stream):
        async for event in stream:
            heard += [] if event is None else [event.seq]
