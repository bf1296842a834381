"""Points as bytes, and back."""

from __future__ import annotations

import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.metrics.packing import FORM, BadChunk, code_of, pack, unpack, value_of
from hai_scheduler.core.metrics.series import Point, Spread

NUMBERS = st.floats(0, 1e18, allow_nan=False)
SPREADS = st.lists(NUMBERS, min_size=3, max_size=3).map(lambda three: Spread(*sorted(three)))
NAMES = st.sampled_from(["cpu", "memory", "gpu0_use", "gpu12_power"])


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


@given(NUMBERS)
def test_a_code_stands_for_its_number(value: float) -> None:
    assert code_of(value_of(code_of(value))) == code_of(value)
    assert value_of(code_of(value)) == pytest.approx(value, rel=0.006, abs=1e-4)


@given(NUMBERS, NUMBERS)
def test_codes_grow_with_their_numbers(one: float, other: float) -> None:
    if one <= other:
        assert code_of(one) <= code_of(other)


@pytest.mark.parametrize(
    ("value", "back"),
    [(0, 0), (1e-5, 0), (1e-4, 1e-4), (1, 1), (100, 100), (1e12, 1e12), (1e18, 1e18), (1e30, 1e18)],
)
def test_the_edges_of_codes(value: float, back: float) -> None:
    assert value_of(code_of(value)) == pytest.approx(back, rel=1e-12)


@pytest.mark.parametrize("count", range(40))
def test_small_counts_are_exact_when_they_are_rounded(count: int) -> None:
    assert round(value_of(code_of(count))) == count


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
    # 1,500 ranks may take half a gigabyte a day; a day is 24 of these hours, and most of it is folded.
    assert len(pack(points)) * 24 < 500_000


@pytest.mark.parametrize(
    "chunk",
    [
        b"",
        b"\x02rest",
        bytes((FORM,)) + b"no zlib",
        bytes((FORM,)) + zlib.compress(b'{"names": ["cpu"], "points": 3}\n\x01'),
        bytes((FORM,)) + zlib.compress(b"[]\n"),
        bytes((FORM,)) + zlib.compress(b"x" * 100)[:-5],
        pack([Point(10, {"cpu": Spread(1, 1, 1)})])[:-3],
    ],
)
def test_what_is_no_chunk_is_refused(chunk: bytes) -> None:
    with pytest.raises(BadChunk):
        unpack(chunk)


def test_a_bomb_is_refused() -> None:
    with pytest.raises(BadChunk, match="too large"):
        unpack(bytes((FORM,)) + zlib.compress(b"0" * (40 * 2**20), 9))
