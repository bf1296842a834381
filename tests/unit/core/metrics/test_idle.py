"""I1: when GPUs do nothing, and since when."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.metrics.columns import PackedColumns
from hai_scheduler.core.metrics.idle import all_idle, idle_at_end, idle_since
from hai_scheduler.core.metrics.series import Point, Spread
from hai_scheduler.core.model.policy import Policy

POLICY = Policy()
IDLE = {"gpu0_sm": 0.0, "gpu0_power": 70.0, "gpu0_power_limit": 700.0, "gpu0_processes": 1.0}


def point(at: int, **values: float) -> Point:
    return Point(at, {name: Spread(value, value, value) for name, value in values.items()})


@pytest.mark.parametrize(
    ("values", "idle"),
    [
        (IDLE, True),
        # Use, where the multiprocessors are not known; else they decide.
        ({"gpu0_use": 0.9}, True),
        ({"gpu0_use": 1.0}, False),
        ({"gpu0_use": 100, "gpu0_sm": 0.5}, True),
        ({"gpu0_use": 0, "gpu0_sm": 2}, False),
        # Power: as a share of the limit, where both are known.
        (IDLE | {"gpu0_power": 104.9}, True),
        (IDLE | {"gpu0_power": 105.1}, False),
        ({"gpu0_sm": 0, "gpu0_power": 400}, True),
        # Without any process the power does not count.
        (IDLE | {"gpu0_power": 200, "gpu0_processes": 0}, True),
        (IDLE | {"gpu0_sm": 5, "gpu0_processes": 0}, False),
        # One GPU that works is enough.
        (IDLE | {"gpu1_use": 50}, False),
        (IDLE | {"gpu1_use": 0}, True),
        # What is not measured is not idle.
        ({}, False),
        ({"cpu": 0}, False),
        ({"gpu0_power": 10, "gpu0_power_limit": 700}, False),
    ],
)
def test_i1_all_gpus_do_nothing(values: dict[str, float], idle: bool) -> None:
    assert all_idle(point(10, **values), POLICY) is idle


@pytest.mark.parametrize("first", [{"gpu0_use": 0.0}, {"gpu0_use": 50.0}, {"cpu": 3.0}, {"gpu0_power": 90.0}])
@pytest.mark.parametrize("other", [{"gpu1_use": 0.0}, {"gpu1_use": 50.0}, {}])
def test_i1_the_end_of_columns_is_as_their_last_point(first: dict[str, float], other: dict[str, float]) -> None:
    points = [point(10, gpu0_use=70, gpu1_use=70), point(20, **first, **other)]
    assert idle_at_end(PackedColumns.of(points), POLICY) is all_idle(points[-1], POLICY)


def test_i1_numbers_of_the_policy_count() -> None:
    policy = Policy(idle_use=20, idle_power=0.5)
    assert all_idle(point(10, gpu0_use=15, gpu0_power=300, gpu0_power_limit=700), policy)
    assert not all_idle(point(10, gpu0_use=15, gpu0_power=400, gpu0_power_limit=700), policy)


def test_i1_a_stretch_begins_with_the_first_idle_window_and_ends_with_work() -> None:
    idle, busy = IDLE, {"gpu0_sm": 50.0}
    assert idle_since([point(100, **idle), point(110, **idle)], None, POLICY) == 90
    assert idle_since([point(100, **idle)], 40, POLICY) == 40
    assert idle_since([point(100, **idle), point(110, **busy)], 40, POLICY) is None
    assert idle_since([point(100, **busy), point(110, **idle)], 40, POLICY) == 100
    # A driver that does not answer says nothing.
    assert idle_since([point(100, cpu=1), point(110, **idle)], 40, POLICY) == 100
    assert idle_since([], 40, POLICY) == 40


@given(st.lists(st.booleans(), max_size=30), st.integers(0, 30))
def test_i1_pieces_say_the_same_as_the_whole(works: list[bool], cut: int) -> None:
    points = [point(10 * n, gpu0_use=50 if busy else 0) for n, busy in enumerate(works, 1)]
    whole = idle_since(points, None, POLICY)
    assert idle_since(points[cut:], idle_since(points[:cut], None, POLICY), POLICY) == whole
    assert idle_since(points, whole if not points else None, POLICY) == whole
