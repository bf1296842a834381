"""Columns of codes: joined, folded and packed they say the same as points do."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.metrics.codes import BadChunk, Codes
from hai_scheduler.core.metrics.columns import PackedColumns, folded_columns, joined_columns
from hai_scheduler.core.metrics.packing import pack, pack_columns, read_columns, unpack
from hai_scheduler.core.metrics.retention import joined
from hai_scheduler.core.metrics.series import Point, Spread, fold

NUMBERS = st.one_of(st.just(0.0), st.floats(1e-6, 1e18), st.sampled_from([1.0, 99.7, 100.0]))
SPREADS = st.lists(NUMBERS, min_size=3, max_size=3).map(lambda three: Spread(*sorted(three)))
NAMES = st.sampled_from(["cpu", "memory", "gpu0_use", "gpu12_power", "job_loss"])


@st.composite
def pieces(draw: st.DrawFn) -> list[list[Point]]:
    """Pieces of a rank, as they are stored: each in order; they may overlap."""
    found = []
    for _ in range(draw(st.integers(0, 4))):
        ends = sorted(draw(st.sets(st.integers(1, 60), max_size=8)))
        found.append([Point(10 * end, draw(st.dictionaries(NAMES, SPREADS, min_size=1))) for end in ends])
    return found


@st.composite
def pieces_in_order(draw: st.DrawFn) -> list[list[Point]]:
    """Pieces that follow each other, as nearly all do."""
    found = draw(pieces())
    return [[Point(point.at + 1000 * number, point.values) for point in piece] for number, piece in enumerate(found)]


def as_stored(parts: Sequence[Sequence[Point]]) -> list[PackedColumns]:
    return [read_columns(pack(part)) for part in parts]


@given(st.one_of(pieces(), pieces_in_order()))
def test_columns_are_joined_as_points_are(parts: list[list[Point]]) -> None:
    stored = as_stored(parts)
    expected = joined(point for part in stored for point in part.points())
    assert joined_columns(stored).points() == expected
    assert unpack(pack_columns(joined_columns(stored))) == unpack(pack(expected))


@given(pieces_in_order(), st.sampled_from([10, 60, 600]))
def test_columns_are_folded_as_points_are(parts: list[list[Point]], step: int) -> None:
    columns = joined_columns(as_stored(parts))
    folded = unpack(pack_columns(folded_columns(columns, step)))
    assert folded == unpack(pack(fold(columns.points(), step)))


def test_a_metric_without_any_value_is_not_packed() -> None:
    nothing = Codes([0, 0], [0, 0], [0, 0])
    columns = PackedColumns([10, 20], {"cpu": nothing}, {"job_loss": [None, None]})
    assert unpack(pack_columns(columns)) == [Point(10, {}), Point(20, {})]
    assert pack_columns(columns) == pack([Point(10, {}), Point(20, {})])


def test_a_code_that_does_not_exist_is_refused() -> None:
    PackedColumns([10], {"cpu": Codes([5], [1], [1])}, {}).check()
    with pytest.raises(BadChunk):
        PackedColumns([10], {"cpu": Codes([5], [9], [1])}, {}).check()
