"""How long tasks are assumed to run: what their jobs report, their limits, and similar tasks."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hai_scheduler.core.model.progress import StepProgress
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.service.insight.history import Basis, History
from kit.builders import a_run, a_task, at

MINUTES = timedelta(minutes=1)


def an_ended(minutes: float, **fields: object) -> Task:
    return a_task(state=TaskState.SUCCEEDED, served=minutes * MINUTES, **fields)


@pytest.mark.parametrize(
    ("sentence", "ended", "basis", "left"),
    [
        ("its own name first", [an_ended(5, name="t"), an_ended(50)], Basis.NAME, 5),
        ("then its size", [an_ended(7, nodes=2), an_ended(50, user="bob", name="t")], Basis.SIZE, 7),
        ("then its group", [an_ended(9, user="bob", nodes=3)], Basis.GROUP, 9),
        ("what never ran says nothing", [an_ended(0, name="t")], Basis.UNKNOWN, None),
        ("other groups say nothing", [an_ended(9, user="bob", group="other")], Basis.UNKNOWN, None),
    ],
)
def test_the_closest_kin_says_how_long_a_task_runs(
    sentence: str, ended: list[Task], basis: Basis, left: float | None
) -> None:
    task = a_task(name="t", nodes=2)
    expected = None if left is None else left * MINUTES
    assert History(ended).left(task, at()) == (basis, expected), sentence


def reported(step: int = 10, total: int | None = 20) -> StepProgress:
    """A report at the first moment, of a job that takes a minute for a step."""
    return StepProgress(run=1, rank=0, step=step, total=total, at=at(), begin_step=0, begin_at=at(), pace_s=60)


@pytest.mark.parametrize(
    ("sentence", "progress", "basis", "left"),
    [
        ("its job says more than similar tasks do", reported(), Basis.PROGRESS, 7),
        ("a job that does not say its end says nothing", reported(total=None), Basis.NAME, 2),
        ("one that has done all steps may do more", reported(20), Basis.NAME, 2),
        ("one that is overdue may hang", reported(18), Basis.NAME, 2),
    ],
)
def test_the_steps_that_a_job_reports_say_how_long_it_runs(
    sentence: str, progress: StepProgress, basis: Basis, left: float
) -> None:
    task = a_task(name="t", state=TaskState.RUNNING, run=a_run(started_at=at()), time_limit=None)
    history = History([an_ended(5, name="t")], {task.id: progress})
    assert history.left(task, at(minutes=3)) == (basis, left * MINUTES), sentence


def test_what_a_task_has_run_counts_and_a_limit_needs_no_history() -> None:
    run = a_run(started_at=at())
    task = a_task(name="t", state=TaskState.RUNNING, run=run, served=2 * MINUTES)
    history = History([an_ended(10, name="t"), an_ended(4, name="t")])
    assert history.left(task, at(minutes=3)) == (Basis.NAME, 5 * MINUTES)
    limited = a_task(name="t", time_limit=MINUTES)
    assert history.left(limited, at()) == (Basis.TIME_LIMIT, None)
