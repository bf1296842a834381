"""HAI claims a save only on evidence: how a run that was told to leave has left, and how much work it has lost."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.lifecycle import events as ev
from hai_scheduler.core.lifecycle.run_outcome import as_asked, outcome_of
from hai_scheduler.core.lifecycle.transitions import advance
from hai_scheduler.core.model.leaving import Left, Profile, Signal, SignalName, Source
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Checkpoint, Rank, RankState
from hai_scheduler.core.model.task import Task, TaskState
from kit.builders import a_checkpoint, a_notice, a_run, a_task, at

#: Every run here is up from `at(0)`, is told to leave at `at(60)`, and is gone at `at(70)`.
TOLD, GONE = 60, 70


def told(profile: Profile = Profile.AUTO, *, checkpoint: Checkpoint | None = None, **fields: object) -> Task:
    """A task that has been told to leave."""
    killed_at, done = fields.pop("killed_at", None), fields.pop("done", False)
    run = a_run(notice=a_notice(at=at(TOLD)), checkpoint=checkpoint, killed_at=killed_at, done=done)
    return a_task(**{"state": TaskState.SUSPENDING, "profile": profile, "run": run, **fields})


def gone(task: Task, code: int, **rank: object) -> Task:
    """The task after its only rank has ended with `code`."""
    last = Rank(
        **{"rank": 0, "node": "node-1", "state": RankState.EXITED, "exit_code": code, "signalled": True, **rank}
    )
    after, _ = advance(task, ev.RanksSeen(at=at(GONE), ranks=(last,)))
    return after


def saved(seconds: float, source: Source = Source.SEEN) -> Checkpoint:
    return a_checkpoint(at=at(seconds), source=source, step=None)


@pytest.mark.parametrize(
    ("case", "profile", "code", "rank", "checkpoint", "left", "lost"),
    [
        ("a script without handler or checkpoint", Profile.SIGTERM, 143, {"signal": 15}, None, Left.UNKNOWN, 70),
        ("that is known to have none", Profile.AUTO, 143, {"signal": 15, "caught": False}, None, Left.UNKNOWN, 70),
        ("submitit that dies of its USR2", Profile.SLURM, 138, {"signal": 10, "caught": False}, None, Left.UNKNOWN, 70),
        ("a shell around such a script passes 143 on", Profile.SIGTERM, 143, {"caught": False}, None, Left.UNKNOWN, 70),
        ("Lightning ends with 0 and saves nothing", Profile.SIGTERM, 0, {"caught": True}, None, Left.UNKNOWN, 70),
        ("a script that saved now and then", Profile.SIGTERM, 143, {"signal": 15}, saved(50), Left.UNKNOWN, 20),
        ("one that saved after it", Profile.AUTO, 143, {"signal": 15, "caught": False}, saved(66), Left.SAVED, 0),
        ("one that saved as the notice came", Profile.AUTO, 0, {"caught": True}, saved(60), Left.SAVED, 0),
        ("one that told so", Profile.SIGTERM, 0, {"caught": True}, saved(61, Source.TOLD), Left.SAVED, 0),
        ("a status with which no job leaves", Profile.AUTO, 1, {"caught": True}, saved(50), Left.ENDED, 20),
        ("... that has saved all the same", Profile.AUTO, 1, {"caught": True}, saved(65), Left.SAVED, 0),
        ("Ray ends with the number of its signal", Profile.AUTO, 15, {"caught": True}, saved(50), Left.UNKNOWN, 20),
        ("... that has saved", Profile.SIGTERM, 15, {"caught": True}, saved(65), Left.SAVED, 0),
        ("... under a profile with another signal", Profile.SLURM, 15, {"caught": True}, None, Left.ENDED, 70),
        ("that status of one without a handler", Profile.AUTO, 15, {"caught": False}, None, Left.ENDED, 70),
        ("that status of one that was sent nothing", Profile.AUTO, 15, {}, None, Left.ENDED, 70),
        ("who dies of USR1 after its handler", Profile.AUTO, 138, {"caught": True}, None, Left.UNKNOWN, 70),
        ("a supervisor that says nothing", Profile.SIGTERM, 143, {"signalled": None}, None, Left.UNKNOWN, 70),
    ],
)  # fmt: skip
def test_how_it_left_and_what_it_lost_stand_on_evidence(
    case: str,
    profile: Profile,
    code: int,
    rank: dict[str, object],
    checkpoint: Checkpoint | None,
    left: Left,
    lost: int,
) -> None:
    task = gone(told(profile, checkpoint=checkpoint), code, **rank)
    assert task.run is not None
    assert (task.state, task.run.left) == (TaskState.SUSPENDED, left), case
    assert task.run.lost == timedelta(seconds=lost), case


def test_one_that_saved_after_its_notice_and_worked_on_until_it_was_ended_has_lost_what_came_after() -> None:
    task = gone(told(checkpoint=saved(62), killed_at=at(69)), 143, signal=15)
    assert task.run is not None
    assert (task.run.left, task.run.lost) == (Left.SAVED, timedelta(seconds=8))


def test_a_rank_that_said_it_was_done_and_was_ended_then_has_lost_nothing() -> None:
    task = gone(told(killed_at=at(69), done=True), 143, signal=15, done=True)
    assert task.run is not None
    assert (task.run.left, task.run.lost) == (Left.SAVED, timedelta(0))


def test_a_checkpoint_is_of_the_time_since_the_notice_by_the_clock_of_its_rank() -> None:
    """The rank's clock is 20 seconds slow: it received the notice at :41 of its own time and saved at :45."""
    task = gone(told(checkpoint=saved(45)), 0, notified_at=at(41))
    assert task.run is not None
    assert task.run.left is Left.SAVED
    task = gone(told(checkpoint=saved(40)), 0, notified_at=at(41))
    assert task.run is not None
    assert task.run.left is Left.UNKNOWN


@pytest.mark.parametrize(
    ("profile", "signal", "allowed"),
    [
        (Profile.AUTO, None, {0, 75, 130, 143}),
        (Profile.AUTO, SignalName.USR2, {0, 75, 130, 143, 140}),
        (Profile.SIGTERM, SignalName.USR1, {0, 75, 130, 143, 138}),
        (Profile.SLURM, SignalName.INT, {0, 143, 138, 130}),
        (Profile.SLURM, None, {0, 143, 138}),
    ],
)
def test_a_chosen_signal_makes_its_status_one_that_was_asked_for(
    profile: Profile, signal: SignalName | None, allowed: set[int]
) -> None:
    task = a_task(profile=profile, signal=None if signal is None else Signal(name=signal))
    assert as_asked(task) == allowed


@pytest.mark.parametrize(("code", "left"), [(12, Left.UNKNOWN), (140, Left.UNKNOWN), (15, Left.ENDED)])
def test_a_job_that_catches_the_signal_chosen_may_end_with_its_number(code: int, left: Left) -> None:
    task = gone(told(signal=Signal(name=SignalName.USR2)), code, caught=True)
    assert task.run is not None
    assert task.run.left is left


@pytest.mark.parametrize(
    ("watched", "checkpoint", "lost"),
    [(False, None, None), (True, None, 70), (None, None, 70), (False, saved(50), 20), (False, saved(66), 0)],
)
def test_how_much_is_lost_is_not_known_where_nobody_looks_at_the_place(
    watched: bool | None, checkpoint: Checkpoint | None, lost: int | None
) -> None:
    task = gone(told(checkpoint=checkpoint), 143, signal=15, watched=watched)
    assert task.run is not None
    assert task.run.lost == (None if lost is None else timedelta(seconds=lost))


@pytest.mark.parametrize("left", [None, saved(20)])
def test_what_was_spoilt_counts_no_more_and_its_work_is_lost(left: Checkpoint | None) -> None:
    task, _ = advance(told(checkpoint=saved(66), unsaved=1), ev.Spoilt(at=at(69), checkpoint=left))
    task = gone(task, 143, signal=15)
    assert task.run is not None
    assert (task.run.left, task.run.lost) == (Left.UNKNOWN, timedelta(seconds=70 if left is None else 50))
    assert task.unsaved == (2 if left is None else 0)


# -- evidence -----------------------------------------------------------------------------------------


def test_files_that_were_seen_later_but_are_older_change_nothing() -> None:
    """These files belong to the checkpoint that the job has reported."""
    task, _ = advance(told(), ev.Saved(at=at(62), checkpoint=saved(61, Source.TOLD)))
    same, _ = advance(task, ev.Saved(at=at(63), checkpoint=saved(60.5)))
    assert same == task
    newer, _ = advance(task, ev.Saved(at=at(64), checkpoint=saved(63)))
    assert newer.checkpoint == saved(63)


# -- how often in a row (P8) --------------------------------------------------------------------------


def test_p8_interruptions_without_evidence_are_counted_until_there_is_some() -> None:
    task = gone(told(unsaved=1), 143, signal=15)
    assert task.unsaved == 2
    task, _ = advance(task, ev.Started(at=at(80), nodes=("node-1",), priority=task.run.priority if task.run else None))
    assert task.unsaved == 2, "a new turn is no evidence"
    task, _ = advance(task, ev.Saved(at=at(90), checkpoint=saved(89)))
    assert task.unsaved == 0


@pytest.mark.parametrize(
    ("case", "task", "rank", "count"),
    [
        ("it saved at all in this run", told(unsaved=1, checkpoint=saved(5)), {}, 0),
        ("it left saved", told(unsaved=1, done=True), {"done": True}, 0),
        ("it was ended at the deadline", told(unsaved=1, killed_at=at(69)), {}, 2),
        ("it was not told to leave", a_task(state=TaskState.RUNNING, unsaved=1), {"state": RankState.LOST}, 1),
        ("it was stopped for good", told(unsaved=1, state=TaskState.STOPPING), {}, 1),
    ],
)  # fmt: skip
def test_p8_what_counts(case: str, task: Task, rank: dict[str, object], count: int) -> None:
    assert gone(task, 143, **rank).unsaved == count, case


def test_p8_a_run_that_never_was_up_could_not_save() -> None:
    task = told(unsaved=1)
    assert task.run is not None
    task = replace(
        task, run=replace(task.run, running_at=None, ranks=(replace(task.run.ranks[0], state=RankState.PENDING),))
    )
    last = Rank(rank=0, node="node-1", state=RankState.EXITED, message="it was never started")
    after, _ = advance(task, ev.RanksSeen(at=at(GONE), ranks=(last,)))
    assert after.unsaved == 1


a_rank = st.fixed_dictionaries(
    {
        "exit_code": st.sampled_from([0, 1, 137, 138, 143]),
        "signal": st.sampled_from([None, 9, 10, 15]),
        "caught": st.sampled_from([None, False, True]),
        "signalled": st.sampled_from([None, False, True]),
        "done": st.just(False),
        "state": st.sampled_from([RankState.EXITED] * 4 + [RankState.LOST]),
    }
)


@given(
    st.lists(a_rank, min_size=1, max_size=3),
    st.sampled_from(list(Profile)),
    st.booleans(),
    st.sampled_from([None, 0, 59]),
)
def test_without_a_word_and_without_a_checkpoint_since_the_notice_nothing_is_called_saved(
    ranks: list[dict[str, object]], profile: Profile, killed: bool, checkpoint: int | None
) -> None:
    run = a_run(
        nodes=len(ranks),
        notice=a_notice(at=at(TOLD)),
        killed_at=at(69) if killed else None,
        checkpoint=None if checkpoint is None else saved(checkpoint),
    )
    run = replace(run, ranks=tuple(replace(rank, **more) for rank, more in zip(run.ranks, ranks, strict=True)))
    task = a_task(state=TaskState.SUSPENDING, nodes=len(ranks), profile=profile, run=run)
    assert outcome_of(task, run).left is not Left.SAVED


def test_the_reason_of_the_notice_stands_beside_how_it_left() -> None:
    task = gone(told(), 143)
    assert (task.reason, task.suspensions) == (Reason.TURN_OVER, 1)
