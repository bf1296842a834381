"""The status of the loop in the store, and the health that other processes derive from it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest

from hai_scheduler.service.platform.loop_status import status_of
from unit.service.platform.status_kit import written
from unit.service.two_replicas import Pair


async def test_it_is_written_at_once_after_the_first_tick_then_with_the_lease_and_not_by_every_idle_tick() -> None:
    pair = await Pair().open()
    cycle = pair.replicas[0].loop.cycle
    await cycle._tick_safely()
    texts = [await written(pair)]
    for _ in range(20):
        await pair.clock.advance(0.5)
        await cycle._tick_safely()
        texts.append(await written(pair))
    told = list(dict.fromkeys(texts))
    assert 4 <= len(told) <= 5, "ten seconds, and a lease of five that is renewed when half of it is over"
    statuses = [status_of(text) for text in told]
    assert all(status is not None and status.last_tick is not None for status in statuses)
    assert statuses[-1] is not None
    assert statuses[-1].holder == pair.replicas[0].holder


async def test_an_idle_tick_between_two_renewals_writes_nothing_at_all() -> None:
    pair = await Pair().open()
    cycle = pair.replicas[0].loop.cycle
    await cycle._tick_safely()
    before = pair.store._state
    await pair.clock.advance(0.5)
    await cycle._tick_safely()
    assert pair.store._state is before


async def test_who_has_lost_the_lease_writes_no_status_over_the_next_leaders() -> None:
    pair = await Pair().open()
    first, second = pair.replicas
    await first.loop.cycle._tick_safely()
    await pair.clock.advance(6)
    await second.loop.cycle._tick_safely()
    theirs = await written(pair)
    assert theirs is not None
    pair.cluster.faults.down = True
    await first.loop.cycle._tick_safely()
    assert await written(pair) == theirs


async def test_the_loop_outlives_whatever_fails_when_it_writes_its_status(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = await Pair().open()
    cycle = pair.replicas[0].loop.cycle
    failed: list[str] = []

    async def fails(*_: object) -> None:
        failed.append("once")
        raise RuntimeError("a fault that nobody has thought of")

    monkeypatch.setattr(type(cycle.telling), "at_once", fails)
    await cycle._tick_safely()
    monkeypatch.undo()
    await cycle._tick_safely()
    assert failed == ["once"]
    assert await written(pair) is not None


async def test_a_reader_outlives_whatever_fails_when_it_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = await Pair().open()
    await pair.replicas[0].loop.cycle._tick_safely()
    news = pair.replicas[1].platform.health.news
    look, failed = type(news).look, asyncio.Event()

    async def fails(*_: object) -> None:
        failed.set()
        raise RuntimeError("a fault that nobody has thought of")

    monkeypatch.setattr(type(news), "look", fails)
    reading = asyncio.create_task(news.run())
    await failed.wait()
    monkeypatch.setattr(type(news), "look", look)
    news.status = None
    await pair.clock.advance(5)
    assert news.status is not None
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)


async def test_a_reader_that_ends_in_a_read_has_given_back_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = await Pair().open()
    news = pair.replicas[1].platform.health.news
    held = asyncio.Event()

    @asynccontextmanager
    async def read() -> AsyncIterator[None]:
        held.set()
        try:
            await asyncio.Event().wait()
            yield
        finally:
            for _ in range(9):
                await asyncio.sleep(0)  # as a connection that is closed
            held.clear()

    monkeypatch.setattr(news, "world", replace(news.world, store=SimpleNamespace(read=read)))
    running = asyncio.create_task(news.run())
    await held.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert not held.is_set()
