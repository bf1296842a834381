"""What a cluster shows becomes events: level-triggered, so reading twice says nothing new."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from builders import a_checkpoint, a_notice, a_run, a_task, at
from hai_scheduler.core.events import AskedToSuspend, Done, Overdue, RanksSeen, Saved, StartFailed, StateKept
from hai_scheduler.core.lifecycle import advance
from hai_scheduler.core.model import Observation, Rank, RankObservation, RankState, RunId, Task, TaskState
from hai_scheduler.core.observing import Seen, read
from hai_scheduler.core.reasons import Reason

PENDING = (Rank(rank=0, node="a"), Rank(rank=1, node="b"))


def starting(**run: object) -> Task:
    return a_task(state=TaskState.STARTING, nodes=2, run=a_run(ranks=PENDING, running_at=None, **run))


def shows(*ranks: RankObservation) -> Observation:
    return Observation(run_id=RunId("1.1"), ranks=ranks)


def is_up(rank: int, **more: object) -> RankObservation:
    return RankObservation(rank=rank, state=RankState.RUNNING, **more)


def look(task: Task, observation: Observation | None, seconds: float = 5) -> Seen:
    return read(task, observation, at(seconds), max_failed_starts=3)


def test_a_run_that_was_never_seen_is_ordered_again() -> None:
    assert look(starting(), None) == Seen((), launch_again=True)


def test_a_half_started_run_is_completed() -> None:
    seen = look(starting(), shows(is_up(0)))
    assert seen.launch_again
    assert isinstance(seen.events[0], RanksSeen)


def test_a_run_told_to_leave_before_it_was_there_never_starts() -> None:
    task = starting(notice=a_notice())
    task = replace(task, state=TaskState.STOPPING)
    seen = look(task, None)
    assert seen == Seen((Overdue(at=at(5)),))
    task, _ = advance(task, seen.events[0])
    ended = look(task, None)
    task, _ = advance(task, ended.events[0])
    assert task.state is TaskState.STOPPED


def test_a_rank_that_ran_and_is_unknown_now_is_lost() -> None:
    task = a_task(state=TaskState.RUNNING)
    (event,) = look(task, None).events
    assert isinstance(event, RanksSeen)
    assert event.ranks[0].state is RankState.LOST


def test_reading_the_same_again_says_nothing() -> None:
    task = a_task(state=TaskState.RUNNING)
    observation = shows(is_up(0, checkpoint=a_checkpoint(at=at(3)), job_state="epoch 1"))
    for event in look(task, observation).events:
        task, _ = advance(task, event)
    assert look(task, observation) == Seen(())


def test_reports_that_were_lost_with_the_service_are_read_from_the_cluster() -> None:
    task = a_task(state=TaskState.SUSPENDING, run=a_run(notice=a_notice()))
    observation = shows(is_up(0, checkpoint=a_checkpoint(at=at(3)), job_state="x", done=True))
    kinds = [type(event) for event in look(task, observation).events]
    assert kinds == [Saved, StateKept, Done, RanksSeen]


def test_the_deadline_is_read_from_the_notice() -> None:
    task = a_task(state=TaskState.SUSPENDING, run=a_run(notice=a_notice()))
    assert look(task, shows(is_up(0)), seconds=119).events == ()
    assert look(task, shows(is_up(0)), seconds=120).events == (Overdue(at=at(120)),)


def test_a_rank_that_could_not_be_started_is_not_the_users_fault() -> None:
    broken = RankObservation(rank=1, state=RankState.EXITED, start_error="no space left")
    seen = look(starting(), shows(is_up(0), broken))
    (event,) = seen.events
    assert isinstance(event, RanksSeen), "the other rank has to go first (B4)"
    gone = RankObservation(rank=0, state=RankState.EXITED, exit_code=143)
    (event,) = look(starting(), shows(gone, broken)).events
    assert isinstance(event, StartFailed)
    assert event.nodes == {"b"}


def test_a_rank_that_is_gone_at_its_deadline_is_not_ended_again() -> None:
    task = a_task(state=TaskState.STOPPING, run=a_run(notice=a_notice()))
    gone = RankObservation(rank=0, state=RankState.EXITED, exit_code=0)
    events = look(task, shows(gone), seconds=500).events
    assert [type(event) for event in events] == [RanksSeen]


def test_when_the_cluster_takes_a_node_away_the_whole_run_is_told_to_leave_in_time() -> None:
    task = a_task(state=TaskState.RUNNING)
    (event,) = look(task, shows(is_up(0, leaving_by=at(45))), seconds=15).events
    assert event == AskedToSuspend(
        at=at(15), reason=Reason.EVICTED, at_most=timedelta(seconds=30), limit=timedelta(seconds=30)
    )
    task, _ = advance(task, event)
    assert task.run.notice.deadline == at(45)
    assert look(task, shows(is_up(0, leaving_by=at(45))), seconds=16).events == ()


def test_what_the_cluster_says_about_an_end_stays_with_the_rank() -> None:
    gone = RankObservation(rank=0, state=RankState.EXITED, exit_code=137, message="out of memory")
    (event,) = look(a_task(state=TaskState.RUNNING), shows(gone)).events
    assert event.ranks[0].message == "out of memory"
