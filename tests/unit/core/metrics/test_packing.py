"""Points as bytes, and back."""

from __future__ import annotations

import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.metrics.codes import BadChunk
from hai_scheduler.core.metrics.packing import FORM, pack, read_columns, unpack, unpack_last
from hai_scheduler.core.metrics.series import Point, Spread

NUMBERS = st.floats(0, 1e18, allow_nan=False)
SPREADS = st.lists(NUMBERS, min_size=3, max_size=3).map(lambda three: Spread(*sorted(three)))
NAMES = st.sampled_from(["cpu", "memory", "gpu0_use", "gpu12_power"])


HOUR = pack([Point(10 * n, {name: Spread(n, n + 1, n + 5) for name in ("cpu", "job_loss")}) for n in range(1, 361)])


@st.composite
def series(draw: st.DrawFn) -> list[Point]:
    ends = sorted(draw(st.sets(st.integers(0, 2**33), max_size=20)))
    return [Point(end, draw(st.dictionaries(NAMES, SPREADS, min_size=1))) for end in ends]


@given(series())
def test_what_was_packed_comes_back_to_about_half_a_per_cent(points: list[Point]) -> None:
    back = unpack(pack(points))
    assert [point.at for point in back] == [point.at for point in points]
    for before, after in zip(points, back, strict=True):
        assert set(after.values) == set(before.values)
        for name, spread in after.values.items():
            assert spread == pytest.approx(before.values[name], rel=0.012, abs=1e-4)


@given(series())
def test_packing_again_changes_nothing(points: list[Point]) -> None:
    once = unpack(pack(points))
    assert unpack(pack(once)) == once


def test_a_day_of_eight_busy_gpus_is_small() -> None:
    chance = random.Random(1)
    points = []
    for number in range(360):
        values = {}
        for gpu in range(8):
            power = 600 + chance.gauss(0, 5)
            values[f"gpu{gpu}_use"] = Spread(99, 99.7 if chance.random() < 0.5 else 100, 100)
            values[f"gpu{gpu}_power"] = Spread(power - 15, power, power + 15)
            values[f"gpu{gpu}_memory"] = Spread(70e9, 70e9, 70e9)
            values[f"gpu{gpu}_sm"] = Spread(80, 85 + chance.gauss(0, 1), 90)
        values["cpu"] = Spread(6, 8 + chance.gauss(0, 0.3), 10)
        values["memory"] = Spread(200e9, 200e9, 200e9)
        points.append(Point(1_700_000_000 + 10 * number, values))
    # 1,500 ranks may take half a gigabyte a day; a day is 24 of these hours.
    assert len(pack(points)) * 24 < 330_000


def test_a_reader_gets_the_metrics_that_it_names() -> None:
    points = [
        Point(10 * number, {name: Spread(number, number, number) for name in ("cpu", "gpu0_use", "gpu1_use", "memory")})
        for number in range(1, 50)
    ]
    whole = unpack(pack(points))
    assert unpack_last(pack(points)) == whole[-1]
    assert unpack_last(pack(points), ["cpu"]) == Point(490, {"cpu": whole[-1].values["cpu"]})
    for names in (["cpu"], ["gpu1_use"], ["gpu0_use", "memory"], ["ib_sent"], []):
        assert unpack(pack(points), names) == [
            Point(point.at, {name: spread for name, spread in point.values.items() if name in names}) for point in whole
        ]


def test_what_moves_by_leaps_and_has_gaps_comes_back() -> None:
    chance = random.Random(3)
    points = []
    for number in range(200):
        values = {"disk_read": Spread(0, 10 ** chance.uniform(-3, 17), 1e18)}
        if chance.random() < 0.5:
            values["gpu0_use"] = Spread(0, chance.uniform(0, 100), 100)
        points.append(Point(10 * number + (number > 90) * 1230, values))
    back = unpack(pack(points))
    assert unpack(pack(back)) == back
    assert [(point.at, set(point.values)) for point in back] == [(point.at, set(point.values)) for point in points]
    assert [point.values["disk_read"].mean for point in back] == pytest.approx(
        [point.values["disk_read"].mean for point in points], rel=0.006
    )


@pytest.mark.parametrize("chunk", [b"", b"\x03rest", bytes((FORM,)) + b"no zlib", HOUR[:-3], HOUR[:9]])
def test_what_is_no_chunk_is_refused(chunk: bytes) -> None:
    """`test_series_piece` has all that may be wrong within one."""
    with pytest.raises(BadChunk):
        unpack(chunk)


def test_a_reader_may_bound_what_it_takes() -> None:
    with pytest.raises(BadChunk, match="360 points"):
        read_columns(HOUR, points=359)
    with pytest.raises(BadChunk, match="too large"):
        read_columns(HOUR, most=2_000)
    assert len(read_columns(HOUR, points=360).ends) == 360


def test_a_metric_that_stays_the_same_costs_little_more_than_its_name() -> None:
    def chunk(**values: Spread) -> bytes:
        return pack([Point(10 * number, {"cpu": Spread(1, 2, 3), **values}) for number in range(1, 361)])

    assert len(chunk(memory=Spread(5e9, 5e9, 5e9))) - len(chunk()) < 30


def test_nothing_has_no_last_point() -> None:
    with pytest.raises(BadChunk, match="without points"):
        unpack_last(pack([]))


def test_a_bomb_is_refused() -> None:
    with pytest.raises(BadChunk, match="too large"):
        unpack(bytes((FORM,)) + zlib.compress(b"0" * (40 * 2**20), 9))
