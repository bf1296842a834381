"""Many traces as one: means, operators, and who is slow."""

from __future__ import annotations

import pytest

from hai_scheduler.core.profiling.gang import Read, sum_up
from hai_scheduler.core.profiling.phases import PHASES


def read(rank: int, *, step: float = 10.0, talk: float = 0.0, operators=(("mm", 2, 1.0),)) -> Read:
    phases = {**dict.fromkeys(PHASES, 0.0), "communication": talk, "forward": step - talk}
    return Read(rank=rank, trace=0, step_s=step, phases=phases, operators=operators)


def test_the_slowest_does_the_most_itself() -> None:
    found = sum_up([read(0, talk=5), read(1, talk=1), read(2, talk=4)])
    assert found is not None
    assert found["slowest"] == {"rank": 1, "trace": 0, "own_s": 9, "median_s": 5.5}
    assert found["phases"]["communication"] == pytest.approx(10 / 3)


@pytest.mark.parametrize("talks", [(1,), (1, 1), (1.0, 1.2, 1.1)])
def test_nobody_is_slow_where_all_are_alike(talks) -> None:
    found = sum_up([read(rank, talk=talk) for rank, talk in enumerate(talks)])
    assert found is not None
    assert found["slowest"] is None


def test_operators_are_added_up() -> None:
    found = sum_up([read(0, operators=(("mm", 2, 1.0), ("add", 1, 3.0))), read(1, operators=(("mm", 2, 4.0),))])
    assert found is not None
    assert found["operators"][0] == {"name": "mm", "calls": 4, "self_s": 5.0, "share": 0.625}


def test_without_traces_there_is_nothing_to_say() -> None:
    assert sum_up([]) is None
