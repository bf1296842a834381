"""The numbers of jobs as parts of a chunk: of any size and sign, to six digits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.metrics.columns import PackedColumns
from hai_scheduler.core.metrics.own_numbers import own_columns, own_head
from hai_scheduler.core.metrics.packing import pack, unpack
from hai_scheduler.core.metrics.series import Point, Spread

NUMBERS = st.floats(-1e18, 1e18, allow_nan=False)
SPREADS = st.lists(NUMBERS, min_size=3, max_size=3).map(lambda three: Spread(*sorted(three)))
VALUES = st.dictionaries(st.sampled_from(["cpu_x", "job_loss", "job_lr", "job_eval/acc"]), SPREADS)


@given(st.lists(VALUES, max_size=20))
def test_what_was_packed_comes_back_to_six_digits(values: list[dict[str, Spread]]) -> None:
    own = [{name: spread for name, spread in one.items() if name.startswith("job_")} for one in values]
    points = [Point(10 * number, one) for number, one in enumerate(own, 1)]
    back = unpack(pack(points))
    assert [(point.at, set(point.values)) for point in back] == [(point.at, set(point.values)) for point in points]
    for before, after in zip(points, back, strict=True):
        for name, spread in after.values.items():
            assert spread == pytest.approx(before.values[name], rel=1e-5)
    assert unpack(pack(back)) == back


def test_both_kinds_of_numbers_share_a_point() -> None:
    point = Point(10, {"cpu": Spread(1, 1, 1), "job_lr": Spread(-3e-5, 3e-5, 4e-5)})
    (back,) = unpack(pack([Point(0, {}), point])[:])[1:]
    assert back.values["cpu"] == pytest.approx((1, 1, 1), rel=0.006)
    assert back.values["job_lr"] == (-3e-5, 3e-5, 4e-5)


def test_the_head_has_one_column_where_one_says_all() -> None:
    points = [Point(10, {"cpu": Spread(1, 2, 3), "job_a": Spread(5, 5, 5)}), Point(20, {"job_b": Spread(1, 2, 3)})]
    assert own_head(PackedColumns.of(points).own) == {"job_a": [[0], [5]], "job_b": [[1], [2], [1], [3]]}


@pytest.mark.parametrize(
    "head", [{"job_a": [[2], [1]]}, {"job_a": [[-1], [1]]}, {"job_a": [[0], []]}, {"job_a": [[0]]}, {"job_a": 3}]
)
def test_a_head_that_is_damaged_is_refused(head: dict[str, object]) -> None:
    with pytest.raises((ValueError, TypeError, LookupError)):
        own_columns(head, 2)


def test_an_hour_of_five_numbers_is_small() -> None:
    """So that they do not change what a day of series takes."""
    import random

    chance = random.Random(7)
    points = []
    for number in range(1, 361):
        loss = 3 / number + chance.random() / 10
        values = {"job_loss": Spread(loss * 0.97, loss, loss * 1.04)}
        values |= {f"job_n{index}": Spread(number, number, number) for index in range(4)}
        points.append(Point(10 * number, values))
    assert len(pack(points)) < 8_000
