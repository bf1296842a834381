"""What supervisors pack is read by the service as the same points."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_client.metrics.packing import packed
from hai_client.metrics.window import OWN, PACKED_FORM
from hai_scheduler.core.metrics.packing import FORM, pack, unpack
from hai_scheduler.core.metrics.series import Point, Spread
from hai_scheduler.core.metrics.series_piece import read_piece

NUMBERS = st.floats(0, 1e18, allow_nan=False)
OWN_NUMBERS = st.floats(-1e18, 1e18, allow_nan=False).map(lambda number: float(f"{number:.6g}"))


def spreads(numbers: st.SearchStrategy[float]) -> st.SearchStrategy[list[float]]:
    return st.lists(numbers, min_size=3, max_size=3).map(sorted)


VALUES = st.dictionaries(st.sampled_from(["cpu", "memory", "gpu0_use", "gpu12_power"]), spreads(NUMBERS))
OWN_VALUES = st.dictionaries(st.sampled_from(["job_loss", "job_eval/x"]), spreads(OWN_NUMBERS), max_size=1)


@st.composite
def series(draw: st.DrawFn) -> list[dict[str, Any]]:
    ends = sorted(draw(st.sets(st.integers(1, 2**33).map(lambda number: 10 * number), max_size=20)))
    return [{"at": end, "values": {**draw(VALUES), **draw(OWN_VALUES)}} for end in ends]


@given(series())
def test_the_service_reads_what_it_would_have_packed_itself(points: list[dict[str, Any]]) -> None:
    piece = read_piece(packed(points))
    as_sent = [Point(one["at"], {name: Spread(*values) for name, values in one["values"].items()}) for one in points]
    assert list(piece.ends) == [point.at for point in as_sent]
    assert piece.points() == unpack(pack(as_sent)) == unpack(piece.data)
    assert piece.own_names == [] or all(name.startswith(OWN) for name in piece.own_names)


def test_both_sides_speak_of_the_same_form() -> None:
    assert packed([])[0] == PACKED_FORM == FORM


@pytest.mark.parametrize("gpus", [0, 8])
def test_a_piece_is_small(gpus: int) -> None:
    names = ["cpu", "memory", *(f"gpu{n}_{name}" for n in range(gpus) for name in ("use", "memory", "power"))]
    points = [{"at": 10 * n, "values": {name: [n, n + 1, n + 2] for name in names}} for n in range(1, 13)]
    assert len(packed(points)) < 500
