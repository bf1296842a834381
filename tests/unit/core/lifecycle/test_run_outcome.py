"""What has finished is not run again: how a run ends that was told to leave, by what is known of its ranks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.lifecycle.events import RanksSeen
from hai_scheduler.core.lifecycle.reconcile import reconcile
from hai_scheduler.core.lifecycle.run_outcome import RunOutcome, doubt, outcome_of
from hai_scheduler.core.lifecycle.transitions import advance
from hai_scheduler.core.model.leaving import Left, Profile
from hai_scheduler.core.model.observation import RankObservation
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Rank, RankState, Run
from hai_scheduler.core.model.task import Task, TaskState
from kit.builders import a_notice, a_run, a_task, at
from unit.core.lifecycle.test_reconcile import shows

SUCCEEDED = RunOutcome(TaskState.SUCCEEDED, Reason.SUCCEEDED)
#: How a suspended run may have left: saved, by itself, ended.
SAVED, LEFT, ENDED = (RunOutcome(TaskState.SUSPENDED, Reason.TURN_OVER, how) for how in Left)
EVERY_PROFILE = pytest.mark.parametrize("profile", list(Profile))
#: Ranks that ended with 0: before they were told, after a signal, and where it is unknown.
BY_ITSELF: dict[str, object] = {"signalled": False}
SIGNALLED: dict[str, object] = {"signalled": True, "notified_at": at(12)}
UNKNOWN: dict[str, object] = {"signalled": None}


def left(
    *ranks: dict[str, object], profile: Profile = Profile.SIGTERM, killed: bool = False, **task: object
) -> tuple[Task, Run]:
    """A run that was told to leave and is gone, its ranks as given, status 0 unless they say otherwise."""
    run = a_run(nodes=len(ranks), notice=a_notice(), killed_at=at(130) if killed else None)
    made = [
        replace(rank, **{"state": RankState.EXITED, "exit_code": 0, **more})
        for rank, more in zip(run.ranks, ranks, strict=True)
    ]
    run = replace(run, ranks=tuple(made))
    return a_task(nodes=len(ranks), profile=profile, run=run, **{"state": TaskState.SUSPENDING, **task}), run


@EVERY_PROFILE
@pytest.mark.parametrize("killed", [False, True], ids=["in time", "killed"])
@pytest.mark.parametrize("state", [TaskState.SUSPENDING, TaskState.STOPPING])
def test_what_ended_with_0_before_any_rank_was_told_has_succeeded(
    profile: Profile, killed: bool, state: TaskState
) -> None:
    task, run = left(BY_ITSELF, BY_ITSELF, profile=profile, killed=killed, state=state)
    assert outcome_of(task, run) == SUCCEEDED


@pytest.mark.parametrize("profile", [Profile.SIGTERM, Profile.SLURM])
def test_a_notice_that_came_when_the_command_had_ended_changes_nothing(profile: Profile) -> None:
    """The supervisor got the notice while it was ending processes that the command had left behind."""
    task, run = left({"signalled": False, "notified_at": at(12)}, profile=profile)
    assert outcome_of(task, run) == SUCCEEDED


@pytest.mark.parametrize(
    ("one", "other"),
    [(BY_ITSELF, SIGNALLED), (BY_ITSELF, {"exit_code": 143, "signalled": True}), (BY_ITSELF, UNKNOWN)],
    ids=["one was told", "one was ended", "one is not known"],
)
@pytest.mark.parametrize("profile", [Profile.SIGTERM, Profile.SLURM])
def test_a_gang_of_which_a_part_was_told_is_suspended(
    profile: Profile, one: dict[str, object], other: dict[str, object]
) -> None:
    """Ranks agree to leave: a rank that was not told may have left because another rank was told."""
    for ranks in ((one, other), (other, one)):
        task, run = left(*ranks, profile=profile)
        assert outcome_of(task, run).state is TaskState.SUSPENDED


@pytest.mark.parametrize(
    ("profile", "rank", "killed", "expected"),
    [
        (Profile.SIGTERM, SIGNALLED, False, LEFT),
        (Profile.SIGTERM, SIGNALLED, True, ENDED),
        (Profile.SLURM, SIGNALLED, False, LEFT),
        (Profile.AUTO, SIGNALLED, False, LEFT),
        (Profile.AUTO, SIGNALLED, True, ENDED),
        # The rank reads no notice, and no signal has been sent to it yet.
        (Profile.AUTO, {"signalled": False, "notified_at": at(12)}, False, SUCCEEDED),
        (Profile.KILL, SIGNALLED, True, ENDED),
        (Profile.COOPERATIVE, {"signalled": False, "notified_at": at(12)}, False, SUCCEEDED),
        (Profile.COOPERATIVE, {"signalled": False, "notified_at": at(12)}, True, SUCCEEDED),
        (Profile.COOPERATIVE, SIGNALLED, True, ENDED),
        (Profile.COOPERATIVE, {**BY_ITSELF, "done": True}, False, SAVED),
        (Profile.KILL, {**BY_ITSELF, "state": RankState.LOST, "exit_code": None}, False, None),
        (Profile.SIGTERM, {**BY_ITSELF, "exit_code": 3}, False, ENDED),
    ],
)
def test_what_an_end_means_by_profile(
    profile: Profile, rank: dict[str, object], killed: bool, expected: RunOutcome | None
) -> None:
    task, run = left(rank, profile=profile, killed=killed)
    expected = expected or ENDED
    assert outcome_of(task, run) == expected


WAITS, OVER = TaskState.SUSPENDED, TaskState.SUCCEEDED


@pytest.mark.parametrize(
    ("case", "profile", "told", "killed", "codes", "state", "how"),
    [
        ("all zero is success", Profile.SIGTERM, False, False, (0, 0), OVER, None),
        ("one failure fails the gang", Profile.SIGTERM, False, True, (0, 3), TaskState.FAILED, None),
        ("SIGTERM's status tells of no saving", Profile.SIGTERM, True, False, (143, 143), WAITS, Left.UNKNOWN),
        ("nor does zero after the signal", Profile.SIGTERM, True, False, (0, 0), WAITS, Left.UNKNOWN),
        ("nor does it where the job was not known", Profile.AUTO, True, False, (0, 143), WAITS, Left.UNKNOWN),
        ("a crash is no leave as asked", Profile.SIGTERM, True, False, (0, 1), WAITS, Left.ENDED),
        ("killed at the deadline is ended", Profile.SIGTERM, True, True, (137, 137), WAITS, Left.ENDED),
        ("a poller that ends by itself has finished", Profile.COOPERATIVE, True, False, (0, 0), OVER, None),
        ("a poller that crashes has failed", Profile.COOPERATIVE, True, False, (1, 0), TaskState.FAILED, None),
        ("a poller that is killed waits", Profile.COOPERATIVE, True, True, (137, 0), WAITS, Left.ENDED),
        ("SIGUSR1's status tells of none either", Profile.SLURM, True, False, (138, 138), WAITS, Left.UNKNOWN),
        ("without notice all are ended", Profile.KILL, True, True, (143, 143), WAITS, Left.ENDED),
    ],
)
def test_endings(
    case: str,
    profile: Profile,
    told: bool,
    killed: bool,
    codes: tuple[int, ...],
    state: TaskState,
    how: Left | None,
) -> None:
    notice = a_notice() if told else None
    run = a_run(nodes=2, notice=notice, killed_at=at(30) if killed else None)
    task = a_task(state=TaskState.SUSPENDING if told else TaskState.RUNNING, nodes=2, profile=profile, run=run)
    ranks = [replace(rank, state=RankState.EXITED, exit_code=code) for rank, code in zip(run.ranks, codes, strict=True)]
    after, _ = advance(task, RanksSeen(at=at(60), ranks=tuple(ranks)))
    assert after.run is not None
    assert (after.state, after.run.left) == (state, how), case


def test_a_word_of_the_job_counts_more_than_how_its_ranks_ended() -> None:
    task, run = left(BY_ITSELF, {**BY_ITSELF, "done": True})
    assert outcome_of(task, run) == SAVED
    task, run = left(BY_ITSELF, BY_ITSELF)
    assert outcome_of(task, replace(run, done=True)).state is TaskState.SUSPENDED


@pytest.mark.parametrize(
    ("ranks", "profile", "killed", "words"),
    [
        ((UNKNOWN,), Profile.SIGTERM, False, "not known whether"),
        ((BY_ITSELF, UNKNOWN), Profile.KILL, True, "not known whether"),
        ((SIGNALLED,), Profile.KILL, True, "while they were being ended"),
        ((BY_ITSELF, SIGNALLED), Profile.SIGTERM, True, "while they were being ended"),
        ((SIGNALLED,), Profile.SIGTERM, False, None),
        (({"signalled": None, "notified_at": at(12)},), Profile.SIGTERM, False, None),
        (({**SIGNALLED, "exit_code": 143},), Profile.SIGTERM, True, None),
        (({**UNKNOWN, "done": True},), Profile.SIGTERM, False, None),
        ((BY_ITSELF,), Profile.SIGTERM, True, None),
    ],
)
def test_where_it_stays_unknown_the_task_is_resumed_and_its_user_is_told(
    ranks: tuple[dict[str, object], ...], profile: Profile, killed: bool, words: str | None
) -> None:
    task, run = left(*ranks, profile=profile, killed=killed)
    seen = RanksSeen(at=at(140), ranks=run.ranks)
    after, _ = advance(replace(task, run=replace(run, ranks=tuple(running(rank) for rank in run.ranks))), seen)
    assert after.run is not None
    said = doubt(after, after.run)
    assert (words or "") in (said or ""), said
    assert said is None or said.startswith("Every rank ended with status 0, ")
    assert (said is None) == (words is None)


def running(rank: Rank) -> Rank:
    return replace(rank, state=RankState.RUNNING, exit_code=None)


def test_what_a_supervisor_says_of_it_reaches_the_ending() -> None:
    task = a_task(state=TaskState.SUSPENDING, profile=Profile.KILL, run=a_run(notice=a_notice(), killed_at=at(11)))
    gone = RankObservation(rank=0, state=RankState.EXITED, exit_code=0, signalled=False)
    (event,) = reconcile(task, shows(gone), at(12), max_failed_starts=3).events
    after, effects = advance(task, event)
    assert (after.state, after.reason, effects) == (TaskState.SUCCEEDED, Reason.SUCCEEDED, ())
    assert after.suspensions == 0
    assert not after.held


a_rank = st.fixed_dictionaries(
    {
        "exit_code": st.sampled_from([0, 0, 0, 1, 143]),
        "signalled": st.sampled_from([None, False, False, True]),
        "notified_at": st.sampled_from([None, at(12)]),
        "done": st.booleans(),
        "state": st.sampled_from([RankState.EXITED] * 4 + [RankState.LOST]),
    }
)


@given(st.lists(a_rank, min_size=1, max_size=4), st.sampled_from(list(Profile)), st.booleans())
def test_success_needs_0_of_every_rank_and_certainty_or_a_job_that_would_have_said_so(
    ranks: list[dict[str, object]], profile: Profile, killed: bool
) -> None:
    task, run = left(*ranks, profile=profile, killed=killed)
    if outcome_of(task, run).state is not TaskState.SUCCEEDED:
        return
    assert all(rank.exit_code == 0 and rank.state is RankState.EXITED and not rank.done for rank in run.ranks)
    certain = all(rank.signalled is False for rank in run.ranks)
    assert certain or (profile is Profile.COOPERATIVE and not killed)
