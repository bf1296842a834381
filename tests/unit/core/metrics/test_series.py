"""Names and units of metrics, and points folded to coarser steps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.metrics.series import Point, Spread, fold, unit_of

POINTS = st.lists(st.tuples(st.integers(1, 500), st.floats(0, 1e6)), max_size=40).map(
    lambda pairs: [Point(at * 10, {"cpu": Spread(value, value, value)}) for at, value in sorted(dict(pairs).items())]
)


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("cpu", "cores"),
        ("gpu0_use", "%"),
        ("gpu63_power", "W"),
        ("gpu64_power", None),
        ("gpu00_use", None),
        ("gpu0_", None),
        ("gpu_use", None),
        ("gpu0_use\n", None),
        ("gpu٣_use", None),
        ("loss", None),
    ],
)
def test_units(name: str, unit: str | None) -> None:
    assert unit_of(name) == unit


def test_a_span_ends_with_the_point_at_its_end() -> None:
    points = [Point(at, {"cpu": Spread(at, at + 1, at + 2)}) for at in (10, 50, 60, 70)]
    assert fold(points, 60) == [
        Point(60, {"cpu": Spread(10, 41, 62)}),
        Point(120, {"cpu": Spread(70, 71, 72)}),
    ]


def test_a_metric_that_comes_later_is_the_mean_of_its_own_points() -> None:
    points = [Point(10, {"cpu": Spread(1, 1, 1)}), Point(20, {"cpu": Spread(3, 3, 3), "memory": Spread(8, 8, 8)})]
    assert fold(points, 60) == [Point(60, {"cpu": Spread(1, 2, 3), "memory": Spread(8, 8, 8)})]


@given(POINTS, st.sampled_from([10, 60, 600]))
def test_folding_twice_is_folding_once_and_keeps_the_extremes(points: list[Point], step: int) -> None:
    folded = fold(points, step)
    assert fold(folded, step) == folded
    assert [point.at for point in folded] == sorted({point.at for point in folded})
    if points:
        assert min(p.values["cpu"].least for p in folded) == min(p.values["cpu"].least for p in points)
        assert max(p.values["cpu"].greatest for p in folded) == max(p.values["cpu"].greatest for p in points)
