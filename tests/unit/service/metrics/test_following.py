"""The newest points of a task: as they come, once, and for whom."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from hai_scheduler.adapters.system.local_bus import MemoryBus
from hai_scheduler.core.metrics.series_piece import SeriesPiece
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.service.metrics.following import AFTER_END, GATHER_S, LOOK_EVERY, NewestPoints, NewPoints
from hai_scheduler.service.metrics.pace import Pace
from hai_scheduler.service.metrics.taking import MetricsIntake
from hai_scheduler.service.shared.errors import Invalid, NotFound
from kit.builders import T0, a_run, at
from kit.memory.clock import VirtualClock
from kit.memory.store import MemoryStore
from kit.worlds import make_world
from unit.service.metrics.metrics_world import a_task_with, ends, points
from unit.service.service_world import user

RUN = RunId("1.1")
ALICE = user("alice")
#: When the reader comes, seconds after T0.
NOW = 600


class World:
    """A task of two ranks that runs since ten minutes, and one who watches it."""

    def __init__(self) -> None:
        self.clock, self.store, self.pace = VirtualClock(T0), MemoryStore(), Pace()
        self.bus = MemoryBus(self.clock)
        self.intake = MetricsIntake(make_world(store=self.store, bus=self.bus, clock=self.clock), pace=self.pace)
        self.use = NewestPoints(make_world(store=self.store, bus=self.bus, clock=self.clock), pace=self.pace)
        self.found: list[dict[int, list[int]]] = []
        self.resume = 0
        self.over = False

    async def fill(self, **run: Any) -> None:
        await a_task_with(self.store, a_run(1, 1, nodes=2, **run))
        await self.clock.advance(NOW)

    async def send(self, seconds: Sequence[int], rank: int = 0) -> None:
        await self.intake.take(RUN, rank, SeriesPiece.of(points(seconds, cpu=1, memory=5)))

    async def watch(self, **asked: Any) -> None:
        async with aclosing(self.use.follow(ALICE, "1", **asked)) as stream:
            async for new in stream:
                self.note(new)
        self.over = True

    def note(self, new: NewPoints | None) -> None:
        if new is not None:
            self.resume = new.resume
            self.found.append({rank: ends(seen) for run in new.points.runs for rank, seen in run.ranks.items()})


@pytest.fixture
def world() -> World:
    return World()


async def test_points_of_the_last_minute_come_first_and_then_new_ones_at_once(world: World) -> None:
    await world.fill()
    await world.send(range(10, NOW + 10, 10))
    watching = asyncio.create_task(world.watch())
    await world.clock.advance(GATHER_S)
    assert world.found == [{0: [550, 560, 570, 580, 590, 600]}]
    await world.clock.advance(60)
    await world.send([610])
    await world.send([610], rank=1)
    # No look is due: the ring of the intake has woken the reader.
    await world.clock.settle()
    assert world.found[1:] == [{0: [610], 1: [610]}]
    watching.cancel()


async def test_points_that_another_replica_took_come_with_the_next_look(world: World) -> None:
    await world.fill()
    watching = asyncio.create_task(world.watch())
    await world.clock.advance(1)
    await world.store.series.append(RUN, 0, points([600], cpu=1))
    await world.clock.advance(LOOK_EVERY)
    assert world.found == [{0: [600]}]
    watching.cancel()


async def test_ranks_of_a_run_that_is_watched_send_every_ten_seconds(world: World) -> None:
    await world.fill()
    watching = asyncio.create_task(world.watch())
    await world.clock.advance(300)
    assert world.pace.watched(RUN, world.clock.steady())
    watching.cancel()
    await world.clock.advance(61)
    assert not world.pace.watched(RUN, world.clock.steady())


async def test_a_reader_chooses_ranks_metrics_and_time(world: World) -> None:
    await world.fill()
    for rank in (0, 1):
        await world.send([10, 300, 590, 600], rank=rank)
    async with aclosing(world.use.follow(ALICE, "1", since=at(200), ranks=[1], names=["cpu"])) as stream:
        new = await anext(stream)
    assert new is not None
    (run,) = new.points.runs
    assert {rank: ends(seen) for rank, seen in run.ranks.items()} == {1: [300, 590, 600]}
    assert set(run.ranks[1][0].values) == {"cpu"}
    assert new.resume == run.ranks[1][-1].at


async def test_a_stream_goes_back_ten_minutes_at_most(world: World) -> None:
    await world.fill()
    await world.clock.advance(600)
    await world.send(range(10, 1210, 10))
    async with aclosing(world.use.follow(ALICE, "1", since=T0)) as stream:
        new = await anext(stream)
    assert new is not None
    assert ends(new.points.runs[0].ranks[0])[0] == 610


async def test_the_stream_of_an_ended_task_ends_when_no_points_can_come(world: World) -> None:
    await world.fill(ended_at=at(NOW))
    async with world.store.write() as tx:
        await tx.tasks.save(_ended(await tx.tasks.get(TaskId(1))))
    watching = asyncio.create_task(world.watch())
    await world.clock.advance(AFTER_END.total_seconds() - 10)
    assert not watching.done()
    await world.send([NOW])
    await world.clock.advance(LOOK_EVERY + GATHER_S)
    assert world.found == [{0: [NOW]}]
    await world.clock.advance(10)
    await watching
    assert world.over


def _ended(task: Task) -> Task:
    return replace(task, state=TaskState.SUCCEEDED)


async def test_nobody_watches_the_task_of_another_user(world: World) -> None:
    await world.fill()
    with pytest.raises(NotFound):
        await anext(world.use.follow(user("bob"), "1"))


@pytest.mark.parametrize(
    ("asked", "field"), [({"names": ["loss"]}, "names"), ({"ranks": range(65)}, "ranks")], ids=["names", "ranks"]
)
async def test_a_question_that_makes_no_sense_is_refused(world: World, asked: dict[str, Any], field: str) -> None:
    await world.fill()
    with pytest.raises(Invalid) as refused:
        await anext(world.use.follow(ALICE, "1", **asked))
    assert refused.value.field == field
