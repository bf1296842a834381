"""How far a job has come: which reports count, the pace, and the time that is left."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.model.progress import WITHIN, StepProgress, advanced
from kit.builders import T0, at


def report(
    before: StepProgress | None, step: int, second: float, *, run: int = 1, rank: int = 0, total: int | None = 100
) -> StepProgress | None:
    return advanced(before, run=run, rank=rank, step=step, total=total, at=at(second))


def some(before: StepProgress | None, step: int, second: float, **other: int) -> StepProgress:
    found = report(before, step, second, **other)
    assert found is not None
    return found


def test_the_pace_is_that_of_the_steps_since_the_first_report() -> None:
    first = some(None, 10, 0)
    assert (first.pace_s, first.left(at(0), running_since=T0)) == (None, None)
    later = some(first, 15, 50)
    assert later.pace_s == 10
    assert later.left(at(50), running_since=T0) == timedelta(seconds=850)
    # Time passes after the report while it runs, and none of it while it waits.
    assert later.left(at(60), running_since=T0) == timedelta(seconds=840)
    assert later.left(at(60), running_since=None) == timedelta(seconds=850)
    assert later.left(at(10_000), running_since=T0) == timedelta(0)
    # It was suspended after the report, and has been running again for five seconds.
    assert later.left(at(10_000), running_since=at(9_995)) == timedelta(seconds=845)


def test_a_few_seconds_say_nothing_of_the_pace() -> None:
    assert some(some(None, 0, 0), 3, 4).pace_s is None


def test_the_next_run_begins_with_the_pace_of_the_one_before() -> None:
    before = some(some(None, 0, 0), 10, 100)
    resumed = some(before, 8, 5000, run=2)
    assert (resumed.run, resumed.step, resumed.pace_s) == (2, 8, 10)
    # The time between the runs is no time of a step.
    assert some(resumed, 12, 5020, run=2).pace_s == 5


@pytest.mark.parametrize(
    ("run", "rank", "second", "counts"),
    [
        (1, 0, 500, False),
        (2, 2, 500, False),
        (2, 1, 100, False),
        (2, 1, 99, False),
        (2, 1, 101, True),
        (2, 0, 50, True),
        (3, 7, 50, True),
    ],
)
def test_the_latest_run_and_its_lowest_rank_count(run: int, rank: int, second: int, counts: bool) -> None:
    before = some(None, 10, 100, run=2, rank=1)
    assert (report(before, 20, second, run=run, rank=rank) is not None) is counts


def test_steps_that_go_back_are_no_pace() -> None:
    before = some(some(None, 0, 0), 10, 100)
    back = some(before, 2, 110)
    assert (back.step, back.pace_s, back.begin_step) == (2, 10, 2)


def test_a_report_without_a_step_more_is_newer_and_no_pace() -> None:
    before = some(some(None, 0, 0), 10, 100)
    still = some(before, 10, 200)
    assert (still.at, still.pace_s) == (at(200), 20)
    waiting = some(some(None, 5, 0), 5, 100)
    assert waiting.pace_s is None


@pytest.mark.parametrize(("step", "total"), [(100, 100), (101, 100), (0, 0), (5, None)])
def test_what_is_done_or_has_no_end_has_no_time_left(step: int, total: int | None) -> None:
    one = StepProgress(run=1, rank=0, step=step, total=total, at=T0, begin_step=0, begin_at=T0, pace_s=1.0)
    assert one.left(T0, running_since=T0) is None


def test_centuries_are_not_told() -> None:
    one = StepProgress(run=1, rank=0, step=1, total=10**15, at=T0, begin_step=0, begin_at=T0, pace_s=1e6)
    assert one.left(T0, running_since=T0) is None


def test_old_steps_count_no_more() -> None:
    # Ten hours at 10 s a step, and two at 1 s.
    now = some(None, 0, 0)
    for second in range(600, 36_001, 600):
        now = some(now, second // 10, second)
    assert now.pace_s == pytest.approx(10)
    for second in range(36_600, 43_201, 600):
        now = some(now, 3600 + second - 36_000, second)
    assert now.pace_s == pytest.approx(1, rel=0.1)


@given(st.lists(st.tuples(st.integers(0, 10**15), st.integers(1, 10**6)), max_size=30), st.integers(0, 10**15))
def test_any_reports_give_a_pace_that_is_no_nonsense(reports: list[tuple[int, int]], total: int) -> None:
    now: StepProgress | None = None
    second = 0
    for step, passed in reports:
        second += passed
        now = some(now, step, second, total=total)
        assert now.begin_step <= max(now.step, 0)
        assert now.begin_at <= now.at
        assert now.pace_s is None or now.pace_s > 0
        left = now.left(at(second), running_since=T0)
        assert left is None or left >= timedelta(0)
    if now is not None and now.at - now.begin_at > 2 * WITHIN:
        assert now.step == now.begin_step
