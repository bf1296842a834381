"""The metrics of a task: which runs and ranks an answer has, at which step, and how large it may be."""

from __future__ import annotations

from typing import Any

import pytest

from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.run import Run
from hai_scheduler.service.metrics import reading
from hai_scheduler.service.metrics.pace import Pace
from hai_scheduler.service.metrics.reading import RANKS, Series, TaskPoints
from hai_scheduler.service.shared.errors import Invalid, NotFound
from kit.builders import T0, a_run, at
from kit.memory.clock import VirtualClock
from kit.memory.store import MemoryStore
from kit.worlds import make_world
from unit.service.metrics.metrics_world import a_task_with, ends, points
from unit.service.service_world import ADMIN, user

FIRST, SECOND = RunId("1.1"), RunId("1.2")
ALICE = user("alice")


class World:
    """A task of two runs: one of ten minutes, and one that began a quarter of an hour after it and goes on."""

    def __init__(self) -> None:
        self.clock, self.store, self.pace = VirtualClock(T0), MemoryStore(), Pace()
        self.use = Series(make_world(store=self.store, clock=self.clock), pace=self.pace)
        self.runs: tuple[Run, ...] = (
            a_run(1, 1, nodes=2, ended_at=at(600)),
            a_run(1, 2, nodes=2, started_at=at(900)),
        )

    async def fill(self) -> None:
        await a_task_with(self.store, *self.runs)
        await self.store.series.append(FIRST, 0, points(range(10, 610, 10), cpu=2, memory=5))
        await self.store.series.append(FIRST, 1, points(range(10, 310, 10), cpu=4))
        await self.store.series.append(SECOND, 0, points(range(910, 1210, 10), cpu=8))
        await self.clock.advance(1200)

    async def read(self, **asked: Any) -> TaskPoints:
        return await self.use.read(ALICE, "1", **asked)


@pytest.fixture
async def world() -> World:
    made = World()
    await made.fill()
    return made


def shape(found: TaskPoints) -> dict[str, dict[int, int]]:
    """How many points an answer has, by run and rank."""
    return {one.run.id: {rank: len(series) for rank, series in one.ranks.items()} for one in found.runs}


# -- what is in an answer ------------------------------------------------------------------------------------


async def test_the_series_of_a_task_go_over_all_its_runs(world: World) -> None:
    found = await world.read()
    assert (found.task.name, found.step) == ("task-1", 10)
    assert shape(found) == {FIRST: {0: 60, 1: 30}, SECOND: {0: 30}}
    assert ends(found.runs[1].ranks[0]) == [*range(910, 1210, 10)]
    assert found.runs[0].ranks[1][0].values["cpu"].mean == pytest.approx(4, rel=0.006)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"run": 2}, {SECOND: {0: 30}}),
        ({"run": 3}, {}),
        ({"ranks": [1]}, {FIRST: {1: 30}, SECOND: {}}),
        ({"ranks": []}, {FIRST: {}, SECOND: {}}),
        ({"since": at(700)}, {SECOND: {0: 30}}),
        ({"since": at(605)}, {FIRST: {}, SECOND: {0: 30}}),
        ({"since": at(300), "until": at(400)}, {FIRST: {0: 10}}),
        ({"until": at(100)}, {FIRST: {0: 10, 1: 10}}),
        ({"until": at(-10)}, {}),
        ({"since": at(1100)}, {SECOND: {0: 10}}),
        ({"since": at(900), "until": at(100)}, {}),
    ],
    ids=str,
)
async def test_a_reader_chooses_the_runs_the_ranks_and_the_time(
    world: World, asked: dict[str, Any], expected: dict[str, dict[int, int]]
) -> None:
    assert shape(await world.read(**asked)) == expected


async def test_the_newest_point_may_end_after_the_run(world: World) -> None:
    await world.store.series.append(FIRST, 0, points([610, 620, 630], cpu=1))
    assert shape(await world.read(run=1))[FIRST][0] == 62, "the last window is sent after its rank has ended"


async def test_of_a_large_gang_the_first_ranks_are_shown_unless_others_are_named(world: World) -> None:
    for rank in range(2, RANKS + 4):
        await world.store.series.append(SECOND, rank, points([910], cpu=1))
    assert sorted(shape(await world.read(run=2))[SECOND]) == [0, *range(2, RANKS)]
    assert sorted(shape(await world.read(run=2, ranks=[RANKS, 18]))[SECOND]) == [RANKS, 18]


async def test_only_the_metrics_that_were_named_are_shown(world: World) -> None:
    found = await world.read(run=1, names=["memory", "gpu3_use"])
    assert {frozenset(point.values) for point in found.runs[0].ranks[0]} == {frozenset({"memory"})}
    assert {frozenset(point.values) for point in found.runs[0].ranks[1]} == {frozenset()}


@pytest.mark.parametrize("name", ["loss", "", "gpu64_use", "gpu0_loss"])
async def test_a_name_that_is_no_metric_is_refused(world: World, name: str) -> None:
    with pytest.raises(Invalid, match=r"is not a metric: docs/metrics\.md lists them") as error:
        await world.read(names=["cpu", name])
    assert (error.value.field, error.value.value) == ("names", name)


async def test_a_task_that_never_ran_has_no_series() -> None:
    world = World()
    world.runs = ()
    await a_task_with(world.store)
    assert (shape(await world.read()), (await world.read()).step) == ({}, 10)


@pytest.mark.parametrize(("who", "ref"), [("bob", "1"), ("alice", "2"), ("bob", "task-1"), ("alice", "none")])
async def test_a_task_that_the_caller_may_not_see_is_not_found(world: World, who: str, ref: str) -> None:
    with pytest.raises(NotFound):
        await world.use.read(user(who), ref)
    assert shape(await world.use.read(ADMIN, "1")) == shape(await world.read())


# -- the step ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "step"),
    [
        (0, 10), (6000, 10), (6001, 30), (18_000, 30), (18_001, 60), (36_000, 60), (36_001, 120), (180_000, 300),
        (180_001, 600), (7 * 86_400, 1800), (30 * 86_400, 7200), (600 * 21_600, 21_600), (600 * 21_600 + 1, 86_400),
        (10**9, 86_400),
    ],
)  # fmt: skip
async def test_the_step_suits_the_time_that_is_asked_for(world: World, seconds: int, step: int) -> None:
    assert (await world.read(since=at(1000), until=at(1000 + seconds))).step == step


async def test_without_a_time_the_step_suits_the_time_from_the_first_run_to_the_newest(world: World) -> None:
    await world.clock.advance(6000 - 20 - 1200)
    assert (await world.read()).step == 10
    await world.clock.advance(1)
    assert (await world.read()).step == 30
    assert (await world.read(run=1)).step == 10, "that run is short"


async def test_points_are_folded_to_the_step_that_was_asked_for(world: World) -> None:
    await world.store.series.append(SECOND, 1, [*points([910], cpu=1), *points([960], cpu=3), *points([970], cpu=9)])
    found = await world.read(run=2, ranks=[1], step=60)
    assert found.step == 60
    series = found.runs[0].ranks[1]
    assert ends(series) == [960, 1020]
    assert series[0].values["cpu"] == pytest.approx((1, 2, 3), rel=0.006)


async def test_points_that_have_grown_old_are_shown_at_the_step_that_is_left(world: World) -> None:
    await world.clock.advance(2 * 86_400)
    while await world.store.series.pack(now=int(world.clock.now().timestamp()), limit=100):
        pass
    found = await world.read(run=1, step=10)
    assert (found.step, ends(found.runs[0].ranks[0])) == (10, [*range(60, 660, 60)])


# -- how large an answer may be ------------------------------------------------------------------------------


@pytest.mark.parametrize(("most", "fits"), [(120, True), (119, False), (89, False)])
async def test_an_answer_that_would_be_too_large_is_refused_with_the_remedy(
    world: World, monkeypatch: pytest.MonkeyPatch, most: int, fits: bool
) -> None:
    monkeypatch.setattr(reading, "MOST_POINTS", most)
    if fits:
        assert sum(sum(ranks.values()) for ranks in shape(await world.read()).values()) == most
        return
    with pytest.raises(Invalid, match=f"gives more than {most} points: name a longer step or fewer ranks") as error:
        await world.read()
    assert (error.value.field, error.value.value) == ("step", 10)
    assert shape(await world.read(step=60)) == {FIRST: {0: 10, 1: 5}, SECOND: {0: 5}}
    assert shape(await world.read(run=1, ranks=[1])) == {FIRST: {1: 30}}


# -- the pace ------------------------------------------------------------------------------------------------


async def test_who_looks_at_a_run_that_goes_on_gets_its_points_at_once(world: World) -> None:
    for rank in range(1500):
        world.pace.next_after(RunId("9.1"), rank, world.clock.steady())
    before = world.pace.next_after(SECOND, 0, world.clock.steady())
    assert before > 100
    await world.read(run=1)
    assert world.pace.next_after(SECOND, 0, world.clock.steady()) > 100, "that run was not looked at"
    assert world.pace.next_after(FIRST, 0, world.clock.steady()) > 100, "that run is over"
    await world.read()
    assert world.pace.next_after(SECOND, 0, world.clock.steady()) == 10
