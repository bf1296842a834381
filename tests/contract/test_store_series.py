"""Series of metrics, in every store."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from contract.store_kit import Opener
from hai_scheduler.core.metrics.retention import DAY, HOUR
from hai_scheduler.core.metrics.series import Point, Spread
from hai_scheduler.core.metrics.series_piece import RankPiece, SeriesPiece
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.store.series_store import SeriesStore
from hai_scheduler.store.store import Store

RUN, OTHER = RunId("7.1"), RunId("7.2")
#: A moment at which days, hours and minutes begin.
BEGIN = 20_000 * DAY
EVER = BEGIN + 10_000 * DAY


@pytest.fixture
def series(store: Store) -> SeriesStore:
    return store.series


def points(first: int, last: int, value: float = 1.0) -> list[Point]:
    """Points of ten seconds whose ends are in (first, last], seconds after BEGIN."""
    return [Point(BEGIN + end, {"cpu": Spread(value, value, value)}) for end in range(first + 10, last + 10, 10)]


async def ends(series: SeriesStore, *, step: int = 10, since: int = 0, rank: int = 0, run: RunId = RUN) -> list[int]:
    found = await series.read(run, since=BEGIN + since, until=EVER, step=step)
    return [point.at - BEGIN for point in found.get(rank, [])]


async def pack_all(series: SeriesStore, now: int) -> int:
    total = 0
    while done := await series.pack(now=BEGIN + now, limit=7):
        total += done
    return total


async def test_what_was_sent_in_pieces_is_read_as_one_series_by_rank(series: SeriesStore) -> None:
    assert await series.append(RUN, 0, points(0, 60, 2)) == BEGIN + 60
    await series.append(RUN, 1, points(0, 30))
    await series.append(OTHER, 0, points(0, 10))
    await series.append(RUN, 0, points(60, 120, 4))
    assert await ends(series) == [*range(10, 130, 10)]
    assert await ends(series, rank=1) == [10, 20, 30]
    found = (await series.read(RUN, since=BEGIN, until=BEGIN + 70, step=10))[0]
    assert [point.values["cpu"].mean for point in found] == pytest.approx([2] * 6 + [4], rel=0.006)


async def test_a_piece_that_is_sent_again_counts_once(series: SeriesStore) -> None:
    await series.append(RUN, 0, points(0, 60, 2))
    assert await series.append(RUN, 0, points(0, 60, 9)) == BEGIN + 60
    assert await series.append(RUN, 0, points(40, 90, 9)) == BEGIN + 90
    found = (await series.read(RUN, since=BEGIN, until=EVER, step=10))[0]
    assert [round(point.values["cpu"].mean) for point in found] == [2] * 6 + [9] * 3
    assert await series.append(RUN, 0, []) == BEGIN + 90
    assert await series.append(OTHER, 0, []) == 0


async def test_pieces_of_one_rank_that_come_at_once_count_once(series: SeriesStore) -> None:
    await asyncio.gather(*(series.append(RUN, 0, points(0, 60)) for _ in range(5)))
    assert await ends(series) == [10, 20, 30, 40, 50, 60]


def a_piece(rank: int, first: int, last: int, value: float = 1.0, run: RunId = RUN) -> RankPiece:
    return RankPiece(run, rank, SeriesPiece.of(points(first, last, value)))


async def test_pieces_of_many_ranks_are_added_at_once(series: SeriesStore) -> None:
    pieces = [a_piece(0, 0, 60), a_piece(1, 0, 30), a_piece(0, 0, 10, run=OTHER)]
    assert list(await series.add(pieces)) == [BEGIN + 60, BEGIN + 30, BEGIN + 10]
    assert await ends(series) == [10, 20, 30, 40, 50, 60]
    assert (await ends(series, rank=1), await ends(series, run=OTHER)) == ([10, 20, 30], [10])
    assert list(await series.add([])) == []


async def test_what_is_new_of_each_of_many_pieces_is_added(series: SeriesStore) -> None:
    await series.add([a_piece(0, 0, 60, 2), a_piece(1, 0, 60, 2)])
    pieces = [
        a_piece(0, 0, 60, 9),
        a_piece(1, 30, 90, 9),
        a_piece(2, HOUR - 20, HOUR + 20),
        a_piece(3, 0, 0),
        a_piece(4, 0, 20),
        a_piece(4, 10, 40, 9),
    ]
    assert [end and end - BEGIN for end in await series.add(pieces)] == [60, 90, HOUR + 20, 0, 20, 40]
    found = await series.read(RUN, since=BEGIN, until=EVER, step=10)
    shown = {
        rank: [(one.at - BEGIN, round(one.values["cpu"].mean)) for one in seen][-3:] for rank, seen in found.items()
    }
    assert shown == {
        0: [(40, 2), (50, 2), (60, 2)],
        1: [(70, 9), (80, 9), (90, 9)],
        2: [(HOUR, 1), (HOUR + 10, 1), (HOUR + 20, 1)],
        4: [(20, 1), (30, 9), (40, 9)],
    }


async def test_hours_that_are_over_are_packed_and_shown_by_minutes(series: SeriesStore) -> None:
    for begin in range(0, 2 * HOUR + 600, 60):
        await series.append(RUN, 0, points(begin, begin + 60))
    assert await pack_all(series, 2 * HOUR + 600) == 2
    assert await ends(series) == [*range(10, 2 * HOUR + 610, 10)]
    assert await ends(series, step=60) == [*range(60, 2 * HOUR + 60, 60), *range(2 * HOUR + 10, 2 * HOUR + 610, 10)]
    assert await pack_all(series, 2 * HOUR + 600) == 0


async def test_packing_gives_back_what_it_takes_of_time_by_its_limit(series: SeriesStore) -> None:
    await series.append(RUN, 0, points(0, 5 * HOUR))
    assert await series.pack(now=BEGIN + 5 * HOUR, limit=2) == 2
    assert await series.pack(now=BEGIN + 5 * HOUR, limit=2) == 2
    assert await series.pack(now=BEGIN + 5 * HOUR, limit=2) == 1
    assert await ends(series) == [*range(10, 5 * HOUR + 10, 10)]


async def test_the_extremes_and_the_mean_stay_when_it_is_folded(series: SeriesStore) -> None:
    await series.append(
        RUN, 0, [Point(BEGIN + 10, {"cpu": Spread(1, 2, 3)}), Point(BEGIN + 60, {"cpu": Spread(0, 4, 9)})]
    )
    await pack_all(series, HOUR)
    (point,) = (await series.read(RUN, since=BEGIN, until=EVER, step=60))[0]
    assert point.at == BEGIN + 60
    assert point.values["cpu"] == pytest.approx((0, 3, 9), rel=0.012)


async def test_what_is_old_is_kept_in_coarser_steps_and_in_the_end_not_at_all(series: SeriesStore) -> None:
    await series.append(RUN, 0, points(0, HOUR))
    await pack_all(series, DAY + HOUR)
    assert await ends(series) == [*range(60, HOUR + 60, 60)]
    await pack_all(series, 31 * DAY + HOUR)
    assert await ends(series) == [*range(600, HOUR + 600, 600)]
    await pack_all(series, 367 * DAY)
    assert await ends(series) == []


async def test_a_piece_that_comes_late_is_packed_with_its_hour(series: SeriesStore) -> None:
    await series.append(RUN, 0, points(0, 600))
    await pack_all(series, HOUR)
    await series.append(RUN, 0, points(600, 1200))
    await pack_all(series, HOUR + 60)
    assert await ends(series) == [*range(10, 1210, 10)]
    assert await ends(series, step=60) == [*range(60, 1260, 60)]


async def test_a_reader_gets_what_is_newer_than_what_it_has_rank_by_rank(series: SeriesStore) -> None:
    await series.append(RUN, 0, points(0, 60))
    await series.append(RUN, 1, points(0, 30))
    await series.append(RUN, 2, points(0, 30))
    await series.append(OTHER, 0, points(0, 90))
    found = await series.newer(RUN, {0: BEGIN + 40, 1: 0, 3: 0})
    assert {rank: [one.at - BEGIN for one in seen] for rank, seen in found.items()} == {0: [50, 60], 1: [10, 20, 30]}
    assert await series.newer(RUN, {0: BEGIN + 60}) == {}
    assert await series.newer(RUN, {}) == {}


async def test_what_was_packed_is_still_newer_and_comes_once(series: SeriesStore) -> None:
    await series.append(RUN, 0, points(0, HOUR + 30))
    await pack_all(series, HOUR + 30)
    found = await series.newer(RUN, {0: BEGIN + HOUR - 20})
    assert [one.at - BEGIN for one in found[0]] == [HOUR - 10, HOUR, HOUR + 10, HOUR + 20, HOUR + 30]


async def test_a_reader_gets_the_metrics_that_it_names(series: SeriesStore) -> None:
    one = Spread(1, 1, 1)
    await series.append(RUN, 0, [Point(BEGIN + 10, {"cpu": one, "memory": one}), Point(BEGIN + 20, {"memory": one})])
    found = await series.read(RUN, since=BEGIN, until=EVER, step=10, names=["cpu", "gpu0_use"])
    assert [(point.at - BEGIN, set(point.values)) for point in found[0]] == [(10, {"cpu"}), (20, set())]


@pytest.mark.parametrize("ranks", [None, [0, 1, 2, 7]])
async def test_every_moment_is_there_at_every_step_whatever_has_been_packed(
    series: SeriesStore, ranks: list[int] | None
) -> None:
    # Rank 1 ends early, rank 2 sends nothing before the last hour.
    last = DAY + 2 * HOUR
    for rank, (begin, end) in enumerate([(0, last), (0, HOUR + 600), (last - 600, last)]):
        for first in range(begin, end, 1200):
            await series.append(RUN, rank, points(first, min(first + 1200, end)))
    await pack_all(series, last)
    for step in (10, 60, 300, 600, 3600):
        found = await series.read(RUN, since=BEGIN, until=EVER, step=step, ranks=ranks)
        # What is older than a day is in spans of a minute at the finest.
        assert found[0][0].at - BEGIN == (600 if step >= 600 else 60)
        for rank, end in enumerate((last, HOUR + 600, last)):
            assert found[rank][-1].at - BEGIN == end
            assert {later.at - earlier.at for earlier, later in pairwise(found[rank])} <= {10, 60, 600}, (step, rank)


async def test_what_was_not_folded_is_not_deleted_however_old_it_is(series: SeriesStore) -> None:
    await series.append(RUN, 0, points(0, 4 * HOUR))
    assert await series.pack(now=BEGIN + 3 * DAY, limit=1) == 1
    assert (await ends(series))[-1] == 4 * HOUR
    await pack_all(series, 3 * DAY)
    assert await ends(series) == [*range(60, 4 * HOUR + 60, 60)]


async def test_a_run_that_is_forgotten_leaves_nothing(series: SeriesStore) -> None:
    await series.append(RUN, 0, points(0, HOUR))
    await series.append(OTHER, 0, points(0, 60))
    await pack_all(series, HOUR)
    await series.forget(RUN)
    assert await ends(series) == []
    assert await ends(series, run=OTHER) == [10, 20, 30, 40, 50, 60]


async def test_the_newest_point_of_each_rank_of_several_runs(series: SeriesStore) -> None:
    await series.append(RUN, 0, points(0, HOUR))
    # The packed hour is a newer row than the piece after it.
    await series.append(RUN, 0, points(HOUR, HOUR + 60))
    await pack_all(series, HOUR)
    await series.append(RUN, 1, points(0, 40))
    await series.append(OTHER, 0, points(0, 60))
    found = await series.newest([RUN, OTHER, RunId("99.1")], since=BEGIN)
    assert {run: {rank: point.at - BEGIN for rank, point in ranks.items()} for run, ranks in found.items()} == {
        RUN: {0: HOUR + 60, 1: 40},
        OTHER: {0: 60},
    }
    assert set(await series.newest([RUN], since=BEGIN)) == {RUN}
    await series.append(OTHER, 0, points(60, 80))
    again = await series.newest([RUN, OTHER], since=BEGIN)
    assert (again[OTHER][0].at, again[RUN]) == (BEGIN + 80, found[RUN])
    late = await series.newest([RUN, OTHER], since=BEGIN + HOUR)
    assert {run: set(ranks) for run, ranks in late.items()} == {RUN: {0}}
    assert await series.newest([], since=0) == {}


async def test_the_newest_points_have_the_metrics_that_are_asked_for(series: SeriesStore) -> None:
    one = Spread(1, 1, 1)
    await series.append(RUN, 0, [Point(BEGIN + 10, {"cpu": one, "memory": one}), Point(BEGIN + 20, {"memory": one})])
    await series.append(RUN, 1, [Point(BEGIN + 10, {"cpu": one, "memory": one})])
    for names in (["cpu"], ["cpu", "memory"], ["gpu0_use"], None, ["memory"]):
        found = await series.newest([RUN], since=BEGIN, names=None if names is None else frozenset(names))
        wanted = {"cpu", "memory"} if names is None else {"cpu", "memory"} & set(names)
        assert {rank: (point.at - BEGIN, set(point.values)) for rank, point in found[RUN].items()} == {
            0: (20, wanted - {"cpu"}),
            1: (10, wanted),
        }


async def test_what_was_acknowledged_survives_the_process(opener: Opener) -> None:
    await (await opener()).series.append(RUN, 0, points(0, 60))
    assert await ends((await opener()).series) == [10, 20, 30, 40, 50, 60]
