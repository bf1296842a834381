"""Points as bytes, and back."""

from __future__ import annotations

import json
import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.metrics.codes import BadChunk
from hai_scheduler.core.metrics.packing import FORM, pack, unpack, unpack_last
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
    assert len(pack(points)) * 24 < 240_000


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


def damaged(chunk: bytes, **changes: object) -> bytes:
    """The chunk with another head."""
    inflate = zlib.decompressobj()
    head = json.loads(inflate.decompress(chunk[1:])) | changes
    return chunk[:1] + zlib.compress(json.dumps(head).encode()) + inflate.unused_data


SOME = pack([Point(10, {"cpu": Spread(1, 1, 1)}), Point(20, {"cpu": Spread(2, 3, 90)})])


@pytest.mark.parametrize(
    "chunk",
    [
        b"",
        b"\x02rest",
        b"\x09rest",
        bytes((FORM,)) + b"no zlib",
        bytes((FORM,)) + zlib.compress(b"[]"),
        bytes((FORM,)) + zlib.compress(b"x" * 100),
        bytes((FORM,)) + zlib.compress(b"[" * 100_000),
        SOME[:-3],
        SOME[:9],
        damaged(SOME, spans=[[10, 10, 3]]),
        damaged(SOME, spans=[[10, 0, 2]]),
        damaged(SOME, spans=7),
        damaged(SOME, kinds=[["cpu"]]),
        damaged(SOME, same={"memory": [1]}),
        damaged(SOME, same={"memory": [1, 5, 0]}),
    ],
)
def test_what_is_no_chunk_is_refused(chunk: bytes) -> None:
    with pytest.raises(BadChunk):
        unpack(chunk)


def test_nothing_has_no_last_point() -> None:
    with pytest.raises(BadChunk, match="without points"):
        unpack_last(pack([]))


def test_a_bomb_is_refused() -> None:
    with pytest.raises(BadChunk, match="too large"):
        unpack(bytes((FORM,)) + zlib.compress(b"0" * (40 * 2**20), 9))
