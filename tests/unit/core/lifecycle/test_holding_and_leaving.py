"""What a start, a hold, a notice, a stop and the end of its run change of a task."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hai_scheduler.core.lifecycle import events as ev
from hai_scheduler.core.lifecycle.start_backoff import wait_after
from hai_scheduler.core.lifecycle.transitions import InvalidTransition, RingNotice, advance
from hai_scheduler.core.model.ids import Origin
from hai_scheduler.core.model.leaving import Source
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Blame, Notice, Rank, RankState, Run
from hai_scheduler.core.model.task import Task, TaskState
from kit.builders import T0, a_checkpoint, a_notice, a_rank, a_run, a_task, at

STATE = TaskState
#: It has been told to leave at T0, has 120 s for that, and half an hour with extensions.
LEAVING = a_task(nodes=2, state=STATE.SUSPENDING, run=a_run(nodes=2, notice=a_notice(beneficiary=9)))


def run_of(task: Task) -> Run:
    assert task.run is not None
    return task.run


def notice_of(task: Task) -> Notice:
    notice = run_of(task).notice
    assert notice is not None
    return notice


def suspend(**fields: object) -> ev.AskedToSuspend:
    return ev.AskedToSuspend(**{"at": at(10), "reason": Reason.PREEMPTED, **fields})  # type: ignore[arg-type]


# -- waiting ------------------------------------------------------------------------------------------


def test_what_kept_a_task_waiting_is_over_when_it_starts() -> None:
    """It has the promised nodes or others (B3), and the wait after a failure is over (H2)."""
    before = {"promise": frozenset({"node-1"}), "not_before": T0, "reason": Reason.FAILED}
    waiting = a_task(state=STATE.SUSPENDED, **before)
    task, _ = advance(waiting, ev.Started(at=at(5), nodes=("node-2",), priority=Priority.HIGH))
    assert (task.promise, task.not_before, task.reason) == (frozenset(), None, None)
    assert (run_of(task).priority, run_of(task).started_at) == (Priority.HIGH, at(5))


def test_a_run_says_which_database_has_decided_it_and_has_a_number_of_its_own() -> None:
    origin = Origin(database="abc", epoch=2)
    started = ev.Started(at=at(5), nodes=("node-2",), priority=Priority.HIGH, above=7, origin=origin)
    run = run_of(advance(a_task(), started)[0])
    assert (run.number, run.origin) == (8, origin)


@pytest.mark.parametrize("event", [ev.Held(at=at(1)), suspend(reason=Reason.USER_SUSPENDED)])
@pytest.mark.parametrize("state", [STATE.QUEUED, STATE.SUSPENDED])
def test_a_waiting_task_that_is_held_keeps_no_nodes(state: TaskState, event: ev.Event) -> None:
    """B3: a promise lapses when the task is held."""
    task, effects = advance(a_task(state=state, promise=frozenset({"node-1"})), event)
    assert (task.state, task.held, task.promise, effects) == (state, True, frozenset(), ())


def test_a_task_that_is_stopped_while_it_waits_has_ended_and_is_held_no_more() -> None:
    task, effects = advance(a_task(held=True), ev.AskedToStop(at=at(3), reason=Reason.USER_STOPPED))
    assert (task.state, task.reason, task.ended_at) == (STATE.STOPPED, Reason.USER_STOPPED, at(3))
    assert not task.held
    assert effects == ()


def test_an_event_that_cannot_happen_names_the_task_and_the_event() -> None:
    task, event = a_task(state=STATE.STOPPED), ev.Held(at=T0)
    with pytest.raises(InvalidTransition) as raised:
        advance(task, event)
    assert (raised.value.task, raised.value.event) == (task, event)


# -- a notice -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("before", "hold", "after"), [(False, False, False), (False, True, True), (True, False, True)])
def test_a_task_is_held_when_it_has_left_if_its_owner_said_so_before_or_now(
    before: bool, hold: bool, after: bool
) -> None:
    running = a_task(state=STATE.RUNNING, held=before)
    assert advance(running, suspend(hold=hold))[0].held is after


@pytest.mark.parametrize(
    ("sentence", "grace", "at_most", "seconds", "most"),
    [
        ("its own grace, and the platform's limit with extensions", 120, None, 120, 1800),
        ("a grace that is longer than the limit is not shortened", 2400, None, 2400, 2400),
        ("no more than the caller has, extensions or not", 120, 50, 50, 50),
        ("a shorter grace of its own, extended to what the caller has", 20, 50, 20, 50),
    ],
)
def test_how_long_a_task_has_to_leave(
    sentence: str, grace: float, at_most: float | None, seconds: float, most: float
) -> None:
    running = a_task(state=STATE.RUNNING, grace=timedelta(seconds=grace))
    longest = None if at_most is None else timedelta(seconds=at_most)
    notice = notice_of(advance(running, suspend(at_most=longest))[0])
    assert (notice.deadline, notice.limit) == (at(10 + seconds), at(10 + most)), sentence
    assert notice.revision == 1


def test_a_notice_after_an_earlier_one_of_the_run_has_the_next_revision() -> None:
    """So that a supervisor takes the later one for newer."""
    running = a_task(state=STATE.RUNNING, run=a_run(notice=a_notice(revision=4)))
    assert notice_of(advance(running, suspend())[0]).revision == 5


@pytest.mark.parametrize(("state", "held"), [(STATE.SUSPENDING, True), (STATE.STOPPING, False)])
def test_a_second_wish_to_suspend_holds_what_will_wait_again_and_leaves_what_ends_alone(
    state: TaskState, held: bool
) -> None:
    task, _ = advance(replace(LEAVING, state=state), suspend(hold=True))
    assert (task.state, task.held) == (state, held)


def test_an_earlier_deadline_stands_also_for_extensions() -> None:
    task, effects = advance(LEAVING, suspend(at_most=timedelta(seconds=20)))
    notice = notice_of(task)
    assert (notice.deadline, notice.limit, notice.revision) == (at(30), at(30), 2)
    assert effects == (RingNotice(run_of(task).id),)


def test_more_time_that_ends_at_the_deadline_is_no_news() -> None:
    task, effects = advance(LEAVING, ev.Saving(at=at(20), seconds=100))
    assert (task, effects) == (LEAVING, ())


@pytest.mark.parametrize("task", [replace(LEAVING, held=True), a_task(state=STATE.RUNNING, held=True)])
def test_a_task_that_is_told_to_stop_is_held_no_more_and_leaves_for_nobody(task: Task) -> None:
    stopping, _ = advance(task, ev.AskedToStop(at=at(10), reason=Reason.USER_STOPPED))
    assert (stopping.state, stopping.held) == (STATE.STOPPING, False)
    assert (notice_of(stopping).reason, notice_of(stopping).beneficiary) == (Reason.USER_STOPPED, None)


def test_a_rank_has_had_the_notice_since_it_first_said_so() -> None:
    heard, effects = advance(LEAVING, ev.NoticeReceived(at=at(1), rank=1))
    again, _ = advance(heard, ev.NoticeReceived(at=at(2), rank=1))
    assert [rank.notified_at for rank in run_of(again).ranks] == [None, at(1)]
    assert effects == ()


def test_a_job_that_gives_its_nodes_back_is_suspending_from_then_on() -> None:
    task, _ = advance(a_task(state=STATE.RUNNING), ev.Done(at=at(7), rank=0))
    assert (task.state, notice_of(task).reason, run_of(task).killed_at) == (STATE.SUSPENDING, Reason.YIELDED, at(7))


def test_a_rank_of_two_that_is_done_gives_nothing_back_alone() -> None:
    running = a_task(nodes=2, state=STATE.RUNNING, run=a_run(nodes=2))
    task, effects = advance(running, ev.Done(at=at(7), rank=0))
    assert (task.state, run_of(task).notice, effects) == (STATE.RUNNING, None, ())


# -- what the job says --------------------------------------------------------------------------------


def test_what_a_job_saved_is_of_its_run_and_of_the_task_and_ends_the_row_of_unsaved_runs() -> None:
    new = a_checkpoint(200, at=at(5))
    task, _ = advance(a_task(state=STATE.RUNNING, unsaved=3), ev.Saved(at=at(6), checkpoint=new))
    assert (run_of(task).checkpoint, task.checkpoint, task.unsaved) == (new, new, 0)


def test_the_text_that_a_job_keeps_is_there_for_its_next_run() -> None:
    assert advance(a_task(state=STATE.RUNNING), ev.StateKept(at=at(1), text="epoch 3"))[0].job_state == "epoch 3"


# -- the end of a run ---------------------------------------------------------------------------------


def seen(*ranks: Rank) -> ev.RanksSeen:
    return ev.RanksSeen(at=at(60), ranks=ranks)


def exited(number: int, code: int | None = 0, **fields: object) -> Rank:
    return a_rank(number, state=RankState.EXITED, exit_code=code, **fields)


def test_a_task_that_has_ended_is_held_no_more_and_its_run_says_why_and_has_lost_nothing() -> None:
    task, _ = advance(a_task(state=STATE.RUNNING, held=True), seen(exited(0)))
    assert (task.state, task.held, task.ended_at) == (STATE.SUCCEEDED, False, at(60))
    run = run_of(task)
    assert (run.reason, run.ended_at, run.lost) == (Reason.SUCCEEDED, at(60), None)


def test_a_gang_that_was_ended_as_a_rank_of_it_could_not_be_started_waits_for_its_next_start() -> None:
    """B4: its other rank was up and had to end first. The wait is that after each first start that fails."""
    notice = a_notice(Reason.START_FAILED)
    ending = a_task(nodes=2, state=STATE.SUSPENDING, run=a_run(nodes=2, running_at=None, notice=notice))
    task, _ = advance(ending, seen(exited(0, 143), exited(1, None, unstarted=Blame.NODE)))
    assert (task.state, task.reason, task.failed_starts) == (STATE.SUSPENDED, Reason.START_FAILED, 1)
    assert task.not_before == at(60) + wait_after(1)


def test_a_run_that_could_not_be_started_says_so() -> None:
    event = ev.StartFailed(at=at(9), message="no disk", nodes=frozenset({"node-1"}), give_up=False)
    task, _ = advance(a_task(state=STATE.STARTING), event)
    assert (run_of(task).reason, task.reason) == (Reason.START_FAILED, Reason.START_FAILED)


def test_nobody_is_told_of_time_that_was_skipped_where_there_is_no_deadline() -> None:
    event = ev.TimeSkipped(at=at(10), by=timedelta(hours=1))
    assert advance(a_task(state=STATE.RUNNING), event)[1] == ()
    assert advance(LEAVING, event)[1] == (RingNotice(run_of(LEAVING).id),)


def test_files_of_the_same_moment_are_the_checkpoint_that_is_known_already() -> None:
    known = a_checkpoint(100, at=at(5))
    running = a_task(state=STATE.RUNNING, run=a_run(checkpoint=known), checkpoint=known, unsaved=2)
    files = a_checkpoint(None, at=at(5), source=Source.SEEN)
    assert advance(running, ev.Saved(at=at(6), checkpoint=files)) == (running, ())
    newer = replace(files, at=at(6))
    assert advance(running, ev.Saved(at=at(7), checkpoint=newer))[0].checkpoint == newer
