"""Points that ranks send: which are stored, once, and which are refused."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import pytest

from hai_scheduler.adapters.system.local_bus import MemoryBus
from hai_scheduler.core.metrics.series import Point, Spread
from hai_scheduler.core.metrics.series_piece import RankPiece, SeriesPiece
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.progress import StepProgress
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.store import Tx
from hai_scheduler.service.metrics import taking
from hai_scheduler.service.metrics.job_reports import MOST_RANKS, JobReport, JobReports
from hai_scheduler.service.metrics.pace import ALONE, BY_SECOND, GATHER_S
from hai_scheduler.service.metrics.taking import AHEAD_S, LATE, TRUSTED, MetricsIntake, PointsTaken
from hai_scheduler.service.shared.errors import Conflict, Invalid
from kit.builders import T0, a_run, at
from kit.memory.clock import VirtualClock
from kit.memory.store import MemoryStore
from kit.worlds import make_world
from unit.service.metrics.metrics_world import BEGIN, a_task_with, ends, points

FIRST, SECOND = RunId("1.1"), RunId("1.2")
#: When the tests take place, seconds after T0: the second run goes on since a minute.
NOW = 960


class World:
    """A task on two nodes, in its second run."""

    def __init__(self) -> None:
        self.clock, self.store = VirtualClock(T0), MemoryStore()
        self.bus = MemoryBus(self.clock)
        self.intake = MetricsIntake(make_world(store=self.store, bus=self.bus, clock=self.clock))

    async def fill(self) -> None:
        runs = (a_run(1, 1, nodes=2, ended_at=at(600)), a_run(1, 2, nodes=2, started_at=at(900)))
        await a_task_with(self.store, *runs)
        await self.clock.advance(NOW)

    async def report(self, step: int, second: float, *, rank: int = 0, run: RunId = SECOND) -> StepProgress | None:
        await self.intake.take(run, rank, SeriesPiece.of([]), JobReport(at=at(second), step=step, total=100))
        async with self.store.read() as tx:
            return (await tx.progress.of([TaskId(1)])).get(TaskId(1))

    async def take(self, seconds: Sequence[int], *, rank: int = 0, run: RunId = SECOND) -> PointsTaken:
        return await self.intake.take(run, rank, SeriesPiece.of(points(seconds, cpu=1)))

    async def stored(self, rank: int = 0, run: RunId = SECOND) -> list[int]:
        found = await self.store.series.read(run, since=0, until=2**40, step=10)
        return ends(found.get(rank, []))


@pytest.fixture
async def world() -> World:
    made = World()
    await made.fill()
    return made


async def test_points_are_stored_and_the_newest_is_told(world: World) -> None:
    assert await world.take([910, 920]) == PointsTaken(newest=BEGIN + 920, after=10.0)
    assert await world.take([910], rank=1) == PointsTaken(newest=BEGIN + 910, after=10.0)
    assert (await world.stored(), await world.stored(rank=1)) == ([910, 920], [910])


@pytest.mark.parametrize(
    ("second", "newest", "stored"),
    [
        ([910, 920], 920, [910, 920]),
        ([920, 930], 930, [910, 920, 930]),
        ([900, 910], 920, [910, 920]),
        ([], 920, [910, 920]),
        ([950], 950, [910, 920, 950]),
    ],
    ids=["the same again", "some again", "older ones", "none", "with a gap"],
)
async def test_a_rank_may_send_its_points_again(
    world: World, second: list[int], newest: int, stored: list[int]
) -> None:
    await world.take([910, 920])
    assert (await world.take(second)).newest == BEGIN + newest
    assert await world.stored() == stored


async def test_a_rank_without_points_is_told_that_there_are_none(world: World) -> None:
    assert (await world.take([])).newest == 0


@pytest.mark.parametrize(
    ("seconds", "number", "says"),
    [
        ([905], 0, "points end at multiples of 10 s, each later than the one before"),
        ([910, 920, 925], 2, "points end at multiples of 10 s"),
        ([910, 910], 1, "each later than the one before"),
        ([920, 910], 1, "each later than the one before"),
        ([-BEGIN], 0, "each later than the one before"),
        ([NOW + AHEAD_S + 10], 0, "lies in the future: set the clock of the node"),
        ([910, 10**9], 1, "lies in the future: set the clock of the node"),
    ],
    ids=["in a window", "in a window, later", "twice", "backwards", "before 1970", "of the future", "far away"],
)
async def test_what_would_make_no_series_is_refused_and_nothing_of_it_stored(
    world: World, seconds: list[int], number: int, says: str
) -> None:
    with pytest.raises(Invalid, match=says) as error:
        await world.take(seconds)
    assert (error.value.field, error.value.value) == (f"points[{number}].at", BEGIN + seconds[number])
    assert await world.stored() == []


async def test_a_clock_may_go_a_little_ahead(world: World) -> None:
    assert (await world.take([NOW, NOW + AHEAD_S])).newest == BEGIN + NOW + AHEAD_S


@pytest.mark.parametrize("rank", [-1, 2, 1000])
async def test_a_rank_that_the_run_does_not_have_is_refused(world: World, rank: int) -> None:
    with pytest.raises(Invalid, match=r"run 1\.2 has ranks 0 to 1"):
        await world.take([910], rank=rank)
    assert await world.stored(rank) == []


@pytest.mark.parametrize("run", [RunId("1.3"), RunId("7.1"), RunId("one.1")])
async def test_a_run_that_never_was_takes_no_points(world: World, run: RunId) -> None:
    with pytest.raises(Conflict):
        await world.take([910], run=run)
    assert await world.stored(run=run) == []


@pytest.mark.parametrize(("late_s", "taken"), [(360, True), (599, True), (600, False), (10**6, False)])
async def test_the_last_points_of_a_run_are_taken_for_ten_minutes_after_its_end(
    world: World, late_s: int, taken: bool
) -> None:
    await world.clock.advance(600 + late_s - NOW)
    if taken:
        assert (await world.take([600], run=FIRST)).newest == BEGIN + 600
        with pytest.raises(Invalid, match=r"run 1\.1 has ranks 0 to 1"):
            await world.take([600], rank=2, run=FIRST)
    else:
        with pytest.raises(Conflict):
            await world.take([600], run=FIRST)
    assert await world.stored(run=FIRST) == ([600] if taken else [])


async def test_a_store_that_cannot_write_is_told_and_the_points_are_taken_later(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object) -> int:
        raise Temporary("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(world.store.series, "add", away)
        with pytest.raises(Temporary, match="the disk is full"):
            await world.take([910])
    assert (await world.take([910])).newest == BEGIN + 910


async def test_where_many_ranks_send_each_is_asked_to_send_less_often(world: World) -> None:
    for rank in range(1500):
        world.intake.pace.next_after(RunId("9.1"), rank, world.clock.steady())
    taken = asyncio.ensure_future(world.take([910]))
    await world.clock.advance(GATHER_S)
    assert (await taken).after == pytest.approx(1501 / BY_SECOND)


async def test_where_many_ranks_send_their_pieces_are_stored_together_and_acknowledged_then(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored: list[int] = []
    add = world.store.series.add

    async def counting(pieces: Sequence[RankPiece]) -> Sequence[int]:
        stored.append(len(pieces))
        return await add(pieces)

    monkeypatch.setattr(world.store.series, "add", counting)
    for rank in range(ALONE + 1):
        world.intake.pace.next_after(RunId("9.1"), rank, world.clock.steady())
    taken = [asyncio.ensure_future(world.take([910], rank=rank)) for rank in (0, 1)]
    await world.clock.advance(GATHER_S / 2)
    assert (stored, [one.done() for one in taken]) == ([], [False, False])
    await world.clock.advance(GATHER_S / 2)
    assert [(await one).newest for one in taken] == [BEGIN + 910, BEGIN + 910]
    assert stored == [2]


async def test_points_that_somebody_waits_for_are_stored_at_once(world: World) -> None:
    for rank in range(ALONE + 1):
        world.intake.pace.next_after(RunId("9.1"), rank, world.clock.steady())
    world.intake.pace.watch(SECOND, world.clock.steady())
    assert (await world.take([910])).newest == BEGIN + 910


async def test_a_run_is_looked_at_once_in_a_while(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[RunId] = []
    recent = taking.recent_run

    async def counting(tx: Tx, run_id: RunId, rank: int, *, since: datetime) -> object:
        looks.append(run_id)
        return await recent(tx, run_id, rank, since=since)

    monkeypatch.setattr(taking, "recent_run", counting)
    for second in (910, 920):
        for rank in (0, 1):
            await world.take([second], rank=rank)
    with pytest.raises(Invalid, match=r"run 1\.2 has ranks 0 to 1"):
        await world.take([910], rank=2)
    assert looks == [SECOND]
    await world.clock.advance(TRUSTED.total_seconds())
    await world.take([930])
    assert looks == [SECOND, SECOND]


async def test_a_run_that_was_seen_live_is_refused_in_time_after_its_end(world: World) -> None:
    await world.take([910])
    async with world.store.write() as tx:
        task = await tx.tasks.get(TaskId(1))
        assert task.run is not None
        run = replace(task.run, ended_at=world.clock.now())
        await tx.tasks.save(replace(task, state=TaskState.QUEUED, run=run))
    await world.clock.advance(LATE.total_seconds() - 1)
    assert (await world.take([920])).newest == BEGIN + 920
    await world.clock.advance(1)
    with pytest.raises(Conflict):
        await world.take([930])


async def test_the_newest_report_of_a_job_is_its_progress(world: World) -> None:
    assert (await world.report(10, 910)) == StepProgress(
        run=2, rank=0, step=10, total=100, at=at(910), begin_step=10, begin_at=at(910)
    )
    now = await world.report(20, 930)
    assert now is not None
    assert (now.step, now.pace_s) == (20, 2)
    assert await world.report(15, 920) == now
    assert await world.report(99, 940, rank=1) == now
    assert await world.report(99, 940, run=FIRST) == now


async def test_a_clock_that_is_ahead_does_not_hide_what_comes_after_it(world: World) -> None:
    ahead = await world.report(10, NOW + 10_000)
    assert ahead is not None
    assert ahead.at == at(NOW)
    await world.clock.advance(10)
    after = await world.report(11, NOW + 10)
    assert after is not None
    assert after.step == 11


async def test_a_report_changes_no_task(world: World) -> None:
    async with world.store.read() as tx:
        before = await tx.tasks.get(TaskId(1))
    await world.report(10, 910)
    async with world.store.read() as tx:
        assert await tx.tasks.get(TaskId(1)) == before


async def names_of(world: World, rank: int) -> set[str]:
    found = await world.store.series.read(SECOND, since=0, until=2**40, step=10)
    return {name for point in found.get(rank, []) for name in point.values}


def own(second: int, *names: str) -> Point:
    return Point(BEGIN + second, {name: Spread(-1, 0, 1) for name in ("cpu", *(f"job_{name}" for name in names))})


async def test_a_run_has_fifty_names_of_its_own_over_all_pieces_and_ranks(world: World) -> None:
    await world.intake.take(SECOND, 0, SeriesPiece.of([own(910, *(f"a{number}" for number in range(40)))]))
    await world.intake.take(SECOND, 0, SeriesPiece.of([own(920, *(f"b{number}" for number in range(900)))]))
    await world.intake.take(SECOND, 1, SeriesPiece.of([own(910, "a0", "c")]))
    assert len(await names_of(world, 0)) == 51
    assert await names_of(world, 1) == {"cpu", "job_a0"}


async def test_the_first_ranks_alone_have_numbers_of_their_own() -> None:
    reports = JobReports()
    piece = SeriesPiece.of([own(910, "loss")])
    assert reports.bounded(SECOND, MOST_RANKS - 1, piece) is piece
    assert set(reports.bounded(SECOND, MOST_RANKS, piece).points()[0].values) == {"cpu"}


async def test_many_runs_are_not_remembered_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hai_scheduler.service.metrics.job_reports.MOST_RUNS", 3)
    reports = JobReports()
    for number in range(10):
        reports.bounded(RunId(f"{number}.1"), 0, SeriesPiece.of([own(910, "loss")]))
    assert len(reports._names) == 3
