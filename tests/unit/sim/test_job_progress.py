"""How long a job has worked, and how much of it is saved."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from hai_scheduler.sim.job_progress import JobProgress
from kit.builders import at
from unit.sim.jobs_kit import a_job


def lengths(*seconds: float | None) -> list[timedelta | None]:
    return [None if each is None else timedelta(seconds=each) for each in seconds]


@pytest.fixture
def job() -> JobProgress:
    """A job of 100 s that has been up since 10 s."""
    progress = JobProgress(a_job(work=100))
    progress.begin()
    progress.rise(at(10))
    return progress


def test_a_job_works_from_when_it_is_up() -> None:
    progress = JobProgress(a_job(work=100))
    progress.begin()
    assert [progress.worked(at(5)), progress.left(at(5))] == lengths(0, 100)
    progress.rise(at(10))
    assert [progress.worked(at(40)), progress.left(at(40))] == lengths(30, 70)
    assert progress.left(at(500)) == timedelta(0)


def test_a_job_without_an_end_has_no_work_left_to_name() -> None:
    progress = JobProgress(a_job(work=None))
    progress.rise(at(0))
    assert (progress.left(at(5)), progress.next_end(at(5))) == (None, None)


def test_the_time_to_save_after_a_notice_is_not_work(job: JobProgress) -> None:
    job.leave(at(40))
    assert job.worked(at(60)) == timedelta(seconds=30)
    assert job.end(at(60), saved=True) == at(40)
    assert job.kept == timedelta(seconds=30)


def test_what_was_not_saved_is_lost_and_what_was_saved_before_is_kept(job: JobProgress) -> None:
    job.save(at(25))
    job.save(at(35))
    assert (job.saves, job.kept, job.worked(at(50))) == (2, timedelta(seconds=25), timedelta(seconds=40))
    assert job.end(at(50), saved=False) == at(35)
    assert job.kept == timedelta(seconds=25)


def test_a_run_that_was_never_up_has_no_work_to_keep() -> None:
    progress = JobProgress(a_job(work=100))
    progress.begin()
    progress.save(at(5))
    assert progress.saves == 0
    progress.leave(at(6))
    assert progress.stopped is None
    assert progress.end(at(7), saved=True) is None
    assert progress.kept == timedelta(0)


def test_each_turn_begins_anew_with_what_was_kept(job: JobProgress) -> None:
    job.let_save = True
    job.leave(at(40))
    job.end(at(40), saved=True)
    assert (job.up, job.unsaved, job.stopped, job.leaving, job.let_save, job.saves) == (
        None,
        None,
        None,
        False,
        False,
        0,
    )
    job.begin()
    job.rise(at(100))
    assert job.worked(at(110)) == timedelta(seconds=40)


def test_events_of_an_earlier_turn_or_of_before_a_notice_are_void(job: JobProgress) -> None:
    tickets = [job.ticket]
    job.leave(at(20))
    tickets.append(job.ticket)
    job.end(at(30), saved=False)
    tickets.append(job.ticket)
    job.begin()
    tickets.append(job.ticket)
    assert len(set(tickets)) == 4


@pytest.mark.parametrize(
    ("fails_after", "failed", "now", "end"),
    [
        (None, False, 10, (at(110), 0)),
        (None, False, 60, (at(110), 0)),
        (40, False, 10, (at(50), 1)),
        (40, True, 10, (at(110), 0)),
        (40, False, 60, (at(60), 1)),
        (100, False, 10, (at(110), 1)),
        (101, False, 10, (at(110), 0)),
    ],
)
def test_a_command_ends_with_its_work_or_fails_once(
    fails_after: float | None, failed: bool, now: float, end: tuple[datetime, int]
) -> None:
    progress = JobProgress(a_job(work=100, fails_after=fails_after), failed=failed)
    progress.rise(at(10))
    assert progress.next_end(at(now)) == end


def test_a_job_without_an_end_may_fail() -> None:
    progress = JobProgress(a_job(work=None, fails_after=40))
    progress.rise(at(0))
    assert progress.next_end(at(0)) == (at(40), 1)
