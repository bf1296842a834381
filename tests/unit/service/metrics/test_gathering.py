"""Pieces that are stored together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from hai_scheduler.core.metrics.series_piece import RankPiece, SeriesPiece
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.service.metrics import gathering
from hai_scheduler.service.metrics.gathering import PieceGatherer
from kit.builders import T0
from kit.memory.clock import VirtualClock
from kit.stores import ScratchStore
from unit.service.metrics.metrics_world import BEGIN, points

RUN = RunId("1.1")


class World:
    """A gatherer over a store that counts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock, self.store = VirtualClock(T0), ScratchStore()
        self.gatherer = PieceGatherer(self.store, self.clock)
        self.stored: list[int] = []
        self.trouble: Exception | None = None
        self._add = self.store.series.add
        monkeypatch.setattr(self.store.series, "add", self.add)

    async def add(self, pieces: Sequence[RankPiece]) -> Sequence[int]:
        self.stored.append(len(pieces))
        if self.trouble is not None:
            raise self.trouble
        return await self._add(pieces)

    def put(self, rank: int, *, wait: float = 1) -> asyncio.Future[int]:
        piece = SeriesPiece.of(points([10 + 10 * rank], cpu=1))
        return asyncio.ensure_future(self.gatherer.put(RankPiece(RUN, rank, piece), wait=wait))


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


async def test_what_comes_within_the_time_is_stored_together(world: World) -> None:
    first = world.put(0)
    await world.clock.advance(0.9)
    second = world.put(1)
    await world.clock.advance(0.1)
    assert [await first, await second] == [BEGIN + 10, BEGIN + 20]
    assert world.stored == [2]
    third = world.put(2)
    await world.clock.advance(1)
    assert await third == BEGIN + 30
    assert world.stored == [2, 1]


async def test_a_piece_that_may_not_wait_takes_the_others_along(world: World) -> None:
    first = world.put(0)
    await world.clock.advance(0.5)
    assert await world.put(1, wait=0) == BEGIN + 20
    assert await first == BEGIN + 10
    assert world.stored == [2]
    # The time of the first one is not that of a later one.
    third = world.put(2)
    await world.clock.advance(0.6)
    assert not third.done()
    await world.clock.advance(0.4)
    assert await third == BEGIN + 30


async def test_one_transaction_is_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "MOST", 3)
    await asyncio.gather(*(world.put(rank) for rank in range(6)))
    assert world.stored == [3, 3]


async def test_all_learn_that_nothing_was_stored(world: World) -> None:
    world.trouble = Temporary("the disk is full")
    waiting = [world.put(0), world.put(1)]
    await world.clock.advance(1)
    for one in waiting:
        with pytest.raises(Temporary, match="the disk is full"):
            await one
    world.trouble = None
    assert await world.put(0, wait=0) == BEGIN + 10


async def test_who_has_gone_keeps_nobody_else_from_an_answer(world: World) -> None:
    gone, there = world.put(0), world.put(1)
    await world.clock.advance(0.5)
    gone.cancel()
    await world.clock.advance(0.5)
    assert await there == BEGIN + 20
    assert gone.cancelled()
