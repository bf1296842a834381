"""The bounded slowdown of tasks."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hai_scheduler.core.ledger.slowdown import slowdown_of
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import TaskState
from kit.builders import T0, a_task, at

YEAR = 365 * 86_400


@pytest.mark.parametrize(
    ("took", "served", "slowdown"),
    [
        (3600, 3600, 1.0),
        (3 * 3600, 3600, 3.0),
        (100, 1, 10.0),  # a second of work counts as ten
        (5, 1, 1.0),
        (100, 0, 10.0),
        (3600, 4000, 1.0),  # the clock was set back
        (60 * YEAR, YEAR, 60.0),  # a million times as long is no length of time
    ],
)
def test_it_is_the_time_to_the_end_by_the_running_time(took: float, served: float, slowdown: float) -> None:
    task = a_task(
        1,
        state=TaskState.SUCCEEDED,
        reason=Reason.SUCCEEDED,
        submitted_at=T0,
        ended_at=at(took),
        served=timedelta(seconds=served),
    )
    assert slowdown_of(task) == slowdown * 1_000_000


def test_a_task_that_goes_on_or_did_not_end_by_itself_has_none() -> None:
    assert slowdown_of(a_task(1)) is None
    for reason in (Reason.USER_STOPPED, Reason.NODE_LOST):
        assert slowdown_of(a_task(1, state=TaskState.FAILED, reason=reason, submitted_at=T0, ended_at=at(9))) is None


@pytest.mark.parametrize("reason", [Reason.FAILED, Reason.TIME_LIMIT, Reason.SUCCEEDED])
def test_a_task_that_ended_by_itself_has_one(reason: Reason) -> None:
    task = a_task(1, state=TaskState.FAILED, reason=reason, submitted_at=T0, ended_at=at(90))
    assert slowdown_of(task) == 9_000_000
