"""A running task without a sign of life, and tasks that only look so."""

from __future__ import annotations

import pytest

from hai_scheduler.core.explaining.silence import SignsOfLife, last_use, silent
from hai_scheduler.core.metrics.series import Point, Spread
from kit.builders import at


def signs(**seen) -> SignsOfLife:
    return SignsOfLife(**{"printed": None, "saved": None, "used": None, "gpus": True, **seen})


@pytest.mark.parametrize("seen", [{"printed": at(minutes=51)}, {"saved": at(minutes=55)}, {"used": at(minutes=59)}])
def test_any_sign_is_enough(seen) -> None:
    assert not silent(signs(**seen), running_since=at(0), now=at(minutes=60))


def test_a_task_that_has_just_begun_is_not_silent() -> None:
    assert not silent(signs(), running_since=at(minutes=51), now=at(minutes=60))


def test_a_task_without_a_new_sign_is_silent() -> None:
    assert silent(signs(printed=at(minutes=20), used=at(minutes=50)), running_since=at(0), now=at(minutes=60))


def points(**values: list[float]) -> list[Point]:
    length = len(next(iter(values.values())))
    return [
        Point(60 * (n + 1), {name: Spread(own[n], own[n], own[n]) for name, own in values.items()})
        for n in range(length)
    ]


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ({"cpu": [1.0, 0.04, 0.06, 0.01]}, (180, False)),
        ({"cpu": [1.0, 1.0], "gpu0_use": [5.0, 0.5]}, (60, True)),
        ({"cpu": [1.0], "gpu0_use": [0.0]}, (None, True)),
        ({"memory": [5.0]}, (None, False)),
    ],
)
def test_gpus_count_where_there_are_some_and_else_processors(values, found) -> None:
    assert last_use(points(**values)) == found
