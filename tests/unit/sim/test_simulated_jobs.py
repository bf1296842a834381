"""Jobs that are told to leave, and jobs that fail: how long it takes, and what of their work is kept."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hai_scheduler.core.model.leaving import Profile
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Retry, TaskState
from hai_scheduler.sim.scenario import SimulatedJob
from unit.sim.jobs_kit import a_job, ends, run, runs_of, seconds, turns


def interrupted(**behaviour: object) -> list[SimulatedJob]:
    """A long job, and an urgent one of 50 s that comes at 100 s."""
    return [a_job(1, 4000, **behaviour), a_job(2, 50, submitted=100, priority=Priority.HIGH)]


def test_time_to_save_is_not_work() -> None:
    outcome = run(interrupted(saves_in=20))
    assert turns(outcome, 2) == [(120, 170)]
    assert turns(outcome, 1) == [(0, 120), (170, 170 + 3900)]
    assert seconds(runs_of(outcome.records, 1)[0].kept_until) == 100


def test_who_ignores_the_notice_is_ended_at_the_deadline_and_begins_again() -> None:
    outcome = run(interrupted(saves_in=None))
    assert turns(outcome, 2) == [(220, 270)]
    assert turns(outcome, 1) == [(0, 220), (270, 270 + 4000)]


def test_what_it_has_saved_by_itself_is_kept() -> None:
    outcome = run(interrupted(saves_in=None, saves_every=60))
    assert turns(outcome, 1) == [(0, 220), (270, 270 + 4000 - 180)]


def test_who_saves_longer_than_its_grace_asks_for_more_time() -> None:
    outcome = run(interrupted(saves_in=300))
    assert turns(outcome, 2) == [(400, 450)]
    assert ends(outcome)[1] == 450 + 3900


def test_more_time_ends_at_the_largest_grace() -> None:
    outcome = run(interrupted(saves_in=3000))
    assert turns(outcome, 2) == [(1900, 1950)]
    assert ends(outcome)[1] == 1950 + 4000, "it was ended before it had saved"


def test_saving_just_in_time_is_in_time() -> None:
    outcome = run(interrupted(saves_in=120))
    assert turns(outcome, 1) == [(0, 220), (270, 270 + 3900)]


def test_a_job_of_the_profile_kill_leaves_at_once_with_nothing_saved() -> None:
    outcome = run([a_job(1, 4000, profile=Profile.KILL), a_job(2, 50, submitted=100, priority=Priority.HIGH)])
    assert turns(outcome, 2) == [(100, 150)]
    assert turns(outcome, 1) == [(0, 100), (150, 4150)]


def test_a_start_that_is_interrupted_leaves_at_once() -> None:
    jobs = interrupted(saves_in=60)
    outcome = run(jobs, start_takes=timedelta(seconds=500))
    assert turns(outcome, 2) == [(100, 650)]
    assert turns(outcome, 1) == [(0, 100), (650, 650 + 500 + 4000)]
    assert runs_of(outcome.records, 1)[0].up is None


def test_a_command_that_fails_ends_its_task() -> None:
    outcome = run([a_job(1, 100, fails_after=40)])
    (task,) = outcome.records.tasks
    assert (task.state, seconds(task.ended_at)) == (TaskState.FAILED, 40)


def test_a_retry_waits_and_begins_where_it_had_saved() -> None:
    retry = Retry(count=1, backoff=timedelta(seconds=30))
    outcome = run([a_job(1, 100, fails_after=40, retry=retry)])
    assert turns(outcome, 1) == [(0, 40), (70, 170)]
    outcome = run([a_job(1, 100, fails_after=45, retry=retry, saves_every=10)])
    assert turns(outcome, 1) == [(0, 45), (75, 75 + 60)]


@pytest.mark.parametrize(("saves_every", "kept"), [(None, 0), (60, 180), (199, 199)])
def test_a_job_that_fails_keeps_what_it_had_saved(saves_every: float | None, kept: float) -> None:
    retry = Retry(count=1, backoff=timedelta(0))
    outcome = run([a_job(1, 1000, fails_after=200, retry=retry, saves_every=saves_every)])
    first, second = runs_of(outcome.records, 1)
    assert (seconds(first.ended_at), seconds(first.kept_until)) == (200, kept)
    assert turns(outcome, 1)[1] == (200, 200 + 1000 - kept)
    assert second.reason is not first.reason


def test_a_job_that_fails_after_more_than_its_work_never_fails() -> None:
    outcome = run([a_job(1, 100, fails_after=101)])
    assert outcome.records.tasks[0].state is TaskState.SUCCEEDED


def test_every_start_but_the_first_costs_time() -> None:
    """A first start takes as long as the setting says; a further one also loads what was saved."""
    outcome = run(interrupted(saves_in=0), start_takes=timedelta(seconds=5), restart_cost=timedelta(seconds=30))
    first, second = runs_of(outcome.records, 1)
    assert (seconds(first.up), seconds(first.started_at)) == (5, 0)
    assert second.up is not None
    assert second.up - second.started_at == timedelta(seconds=35)


def test_a_job_that_saves_in_time_ends_its_run_before_the_deadline_that_was_put_off() -> None:
    outcome = run(interrupted(saves_in=300))
    assert seconds(runs_of(outcome.records, 1)[0].ended_at) == 400
    assert seconds(runs_of(outcome.records, 1)[0].kept_until) == 100
