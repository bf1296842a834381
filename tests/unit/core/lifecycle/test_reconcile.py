"""Observations of a cluster become events; they are level-triggered, so a second observation gives no new event."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hai_scheduler.core.lifecycle.events import AskedToSuspend, Done, Overdue, RanksSeen, Saved, StartFailed, StateKept
from hai_scheduler.core.lifecycle.reconcile import Observed, reconcile
from hai_scheduler.core.lifecycle.transitions import advance
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.leaving import Left, Profile
from hai_scheduler.core.model.observation import Observation, RankObservation
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Blame, Rank, RankState
from hai_scheduler.core.model.task import Retry, Task, TaskState
from kit.builders import a_checkpoint, a_notice, a_run, a_task, at

PENDING, RUNNING, EXITED, LOST = RankState.PENDING, RankState.RUNNING, RankState.EXITED, RankState.LOST
BOTH = (Rank(rank=0, node="a"), Rank(rank=1, node="b"))


def starting(**run: object) -> Task:
    return a_task(state=TaskState.STARTING, nodes=2, run=a_run(ranks=BOTH, running_at=None, **run))


def shows(*ranks: RankObservation) -> Observation:
    return Observation(run_id=RunId("1.1"), ranks=ranks)


def is_up(rank: int, **more: object) -> RankObservation:
    return RankObservation(rank=rank, state=RankState.RUNNING, **more)


def look(task: Task, observation: Observation | None, seconds: float = 5) -> Observed:
    return reconcile(task, observation, at(seconds), max_failed_starts=3)


def test_a_run_that_was_never_seen_is_ordered_again() -> None:
    assert look(starting(), None) == Observed((), launch_again=True)


def test_what_keeps_ranks_from_being_launched_is_said_of_those_that_are_not_there() -> None:
    seen = reconcile(starting(), shows(is_up(0)), at(5), max_failed_starts=3, trouble="no right to create pods")
    assert seen.launch_again
    (event,) = seen.events
    assert isinstance(event, RanksSeen)
    assert [rank.message for rank in event.ranks] == [None, "no right to create pods"]
    task, _ = advance(starting(), event)
    (over,) = look(task, shows(is_up(0), is_up(1))).events
    assert isinstance(over, RanksSeen)
    assert [rank.message for rank in over.ranks] == [None, None]


def test_of_ranks_that_fail_together_the_one_that_ended_first_is_the_first_failure() -> None:
    def failed(rank: int, second: float) -> RankObservation:
        return RankObservation(rank=rank, state=EXITED, exit_code=1, ended_at=at(second))

    task, _ = advance(starting(), look(starting(), shows(is_up(0), is_up(1))).events[0])
    (event,) = look(task, shows(failed(0, 4), failed(1, 3))).events
    task, _ = advance(task, event)
    assert task.run is not None
    assert (task.state, task.run.failed_ranks) == (TaskState.FAILED, (0, 1))
    assert task.run.first_failure == task.run.ranks[1]


def test_a_half_started_run_is_completed() -> None:
    seen = look(starting(), shows(is_up(0)))
    assert seen.launch_again
    assert isinstance(seen.events[0], RanksSeen)


def test_a_run_told_to_leave_before_it_was_there_never_starts() -> None:
    task = starting(notice=a_notice())
    task = replace(task, state=TaskState.STOPPING)
    seen = look(task, None)
    assert seen == Observed((Overdue(at=at(5)),))
    task, _ = advance(task, seen.events[0])
    assert look(task, None) == Observed(()), "the order to start it may still come, from another replica"
    assert look(task, shows()) == Observed(())
    (event,) = look(task, Observation(run_id=RunId("1.1"), ranks=(), killed=True)).events
    task, _ = advance(task, event)
    assert task.state is TaskState.STOPPED


@pytest.mark.parametrize("state", [TaskState.STOPPING, TaskState.SUSPENDING])
@pytest.mark.parametrize(
    ("states", "running_at", "at_once"),
    [
        ((PENDING, PENDING), None, True),
        ((RUNNING, PENDING), None, True),
        ((RUNNING, RUNNING), None, False),
        ((RUNNING, PENDING), at(1), False),
    ],
    ids=["none is up", "one is up", "all are up", "all were up"],
)
def test_a_run_whose_command_has_not_begun_is_given_no_time_to_save(state, states, running_at, at_once) -> None:
    run = a_run(ranks=BOTH, running_at=running_at, notice=a_notice())
    task = a_task(state=state, nodes=2, run=run)
    shown = shows(*(RankObservation(rank=rank, state=one) for rank, one in enumerate(states)))
    ended = any(isinstance(event, Overdue) for event in look(task, shown).events)
    assert ended is at_once


def test_what_the_cluster_does_not_show_of_a_run_that_it_was_told_to_end_never_starts() -> None:
    task = starting(notice=a_notice(), killed_at=at(4))
    gone = RankObservation(rank=0, state=RankState.EXITED, exit_code=143)
    (event,) = look(task, shows(gone)).events
    assert isinstance(event, RanksSeen)
    assert [rank.state for rank in event.ranks] == [EXITED, PENDING]
    (event,) = look(task, replace(shows(gone), killed=True)).events
    assert isinstance(event, RanksSeen)
    assert [(rank.state, rank.message) for rank in event.ranks] == [(EXITED, None), (EXITED, "it was never started")]


@pytest.mark.parametrize("ranks", [(), (is_up(0),), (is_up(0), is_up(1))], ids=["none", "one", "both"])
def test_a_run_that_the_cluster_was_told_to_end_by_another_database_is_over(ranks: tuple[RankObservation, ...]) -> None:
    """The database has lost the order by which the run was ended (decision 0016): its launch would start no process."""
    task = starting()
    seen = look(task, Observation(run_id=RunId("1.1"), ranks=ranks, killed=True))
    assert isinstance(seen.events[0], AskedToSuspend)
    assert not seen.launch_again
    for event in seen.events:
        task, _ = advance(task, event)
    ended = [RankObservation(rank=rank.rank, state=EXITED, exit_code=143) for rank in ranks]
    for event in look(task, Observation(run_id=RunId("1.1"), ranks=tuple(ended), killed=True), 20).events:
        task, _ = advance(task, event)
    assert (task.state, task.reason) == (TaskState.SUSPENDED, Reason.RESTORED)


@pytest.mark.parametrize(
    ("older", "signalled", "state"),
    [
        (True, True, TaskState.SUSPENDED),
        (True, False, TaskState.SUCCEEDED),
        (False, True, TaskState.SUCCEEDED),
    ],
)
def test_a_run_that_left_as_asked_in_a_past_that_is_lost_has_not_finished(older, signalled, state) -> None:
    """A restored database does not know the notice, but the supervisors of the ranks do."""
    task = replace(starting(), state=TaskState.RUNNING)
    ended = [
        RankObservation(
            rank=rank, state=EXITED, exit_code=0, signalled=signalled, notified_at=at(3) if signalled else None
        )
        for rank in (0, 1)
    ]
    seen = reconcile(
        task, Observation(run_id=RunId("1.1"), ranks=tuple(ended)), at(9), max_failed_starts=3, older=older
    )
    for event in seen.events:
        task, _ = advance(task, event)
    assert task.state is state


def test_a_rank_that_the_run_does_not_have_says_nothing() -> None:
    forged = is_up(9, done=True, checkpoint=a_checkpoint(at=at(4)), leaving_by=at(9))
    assert look(starting(), shows(forged)) == look(starting(), shows())


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
    assert look(task, observation) == Observed(())


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


def follow(task: Task, observation: Observation | None, seconds: float = 5) -> Task:
    """The task after the events of the observation."""
    for event in look(task, observation, seconds).events:
        task, _ = advance(task, event)
    return task


@pytest.mark.parametrize("then", [{"state": RUNNING}, {"state": EXITED, "exit_code": 0}], ids=["up", "over"])
def test_what_a_rank_waited_for_is_not_said_of_it_any_more_when_it_runs(then) -> None:
    waits = RankObservation(rank=0, state=PENDING, message="ImagePullBackOff: no such image")
    task = a_task(state=TaskState.STARTING, run=a_run(ranks=BOTH[:1], running_at=None))
    task = follow(task, shows(waits))
    assert task.run.ranks[0].message == "ImagePullBackOff: no such image"
    assert follow(task, shows(RankObservation(rank=0, **then))).run.ranks[0].message is None


# --- starts that failed, and ends that look like it

REJECTED = RankObservation(rank=0, state=EXITED, start_error="its node rejected it")
GONE = RankObservation(rank=0, state=EXITED, exit_code=143)
UP, NEW = Rank(rank=0, node="a", state=RUNNING), Rank(rank=0, node="a")
TOLD, KILLED = {"notice": a_notice(at=at(1))}, {"killed_at": at(2)}


@pytest.mark.parametrize(
    ("rank", "run", "state", "reason"),
    [
        (NEW, {"running_at": None}, TaskState.STARTING, Reason.START_FAILED),
        (UP, {}, TaskState.RUNNING, Reason.NODE_LOST),
        (UP, {"running_at": None}, TaskState.STARTING, Reason.NODE_LOST),
        (UP, TOLD, TaskState.SUSPENDING, Reason.TURN_OVER),
        (UP, {**TOLD, **KILLED}, TaskState.SUSPENDING, Reason.TURN_OVER),
        (NEW, {**TOLD, "running_at": None}, TaskState.SUSPENDING, Reason.TURN_OVER),
        (NEW, {**TOLD, **KILLED, "running_at": None}, TaskState.SUSPENDING, Reason.TURN_OVER),
        (NEW, {**TOLD, "running_at": None, "killed_at": at(0)}, TaskState.SUSPENDING, Reason.START_FAILED),
    ],
    ids=["new", "had run", "up alone", "told", "told and ended", "told early", "ended early", "had broken before"],
)
def test_only_what_was_never_seen_to_run_and_never_told_to_leave_can_fail_to_start(rank, run, state, reason) -> None:
    task = follow(a_task(state=state, run=a_run(ranks=(rank,), **run)), shows(REJECTED))
    assert (task.state, task.reason) == (TaskState.SUSPENDED, reason)
    assert task.failed_starts == (reason is Reason.START_FAILED)


def test_a_run_that_was_told_to_stop_is_stopped_however_it_looks() -> None:
    task = a_task(state=TaskState.STOPPING, run=a_run(ranks=(UP,), notice=a_notice(Reason.USER_STOPPED)))
    assert follow(task, shows(REJECTED)).reason is Reason.USER_STOPPED


@pytest.mark.parametrize("first", [0, 1], ids=["the broken one ends first", "the broken one ends last"])
def test_a_gang_of_which_a_rank_could_not_be_started_has_failed_to_start_in_whatever_order_it_ends(first) -> None:
    ends = [replace(REJECTED, rank=0), replace(GONE, rank=1)]
    seen = [is_up(1), RankObservation(rank=0, state=PENDING)]
    task = follow(starting(), shows(*seen))
    task = follow(task, shows(ends[first], seen[first]))
    assert task.run.killed_at == at(5)
    task = follow(task, shows(*ends))
    assert (task.state, task.reason, task.avoid) == (TaskState.SUSPENDED, Reason.START_FAILED, {"a"})


def test_a_start_that_was_seen_to_fail_is_remembered_when_the_cluster_forgets_it() -> None:
    task = follow(starting(), shows(REJECTED, is_up(1)))
    assert (task.state, task.run.running_at) == (TaskState.STARTING, None), "it never was whole"
    forgotten = RankObservation(rank=0, state=EXITED)
    task = follow(task, shows(forgotten, replace(GONE, rank=1)))
    assert (task.reason, task.run.ranks[0].message) == (Reason.START_FAILED, "its node rejected it")


@pytest.mark.parametrize(
    ("blame", "nodes", "doubtful"),
    [(Blame.NODE, {"a"}, set()), (Blame.UNKNOWN, set(), {"a"}), (Blame.NOBODY, set(), set())],
    ids=str,
)
def test_a_failed_start_is_held_against_nodes_as_the_cluster_says(blame, nodes, doubtful) -> None:
    (event,) = look(starting(), shows(replace(REJECTED, blame=blame), replace(GONE, rank=1))).events
    assert isinstance(event, StartFailed)
    assert (event.nodes, event.doubtful, event.message) == (nodes, doubtful, "its node rejected it")


CROWDED = replace(REJECTED, blame=Blame.NOBODY, crowded=True, start_error="no room there")


@pytest.mark.parametrize("failed", [0, 2, 7])
@pytest.mark.parametrize("first", [0, 1], ids=["the crowded one ends first", "the crowded one ends last"])
def test_f5_a_start_that_meets_pods_of_others_is_tried_elsewhere_at_once_and_costs_nothing(failed, first) -> None:
    ends = [CROWDED, replace(GONE, rank=1)]
    seen = [RankObservation(rank=0, state=PENDING), is_up(1)]
    task = follow(replace(starting(), failed_starts=failed), shows(*seen))
    task = follow(task, shows(ends[first], seen[1 - first]))
    assert task.run.killed_at == at(5), "the gang's other nodes come free"
    (event,) = look(task, shows(*ends)).events
    assert isinstance(event, StartFailed)
    assert (event.nodes, event.doubtful, event.crowded, event.give_up) == (set(), set(), True, False)
    task, _ = advance(task, event)
    assert (task.state, task.reason, task.failed_starts) == (TaskState.SUSPENDED, Reason.START_FAILED, failed)
    assert (task.avoid, task.not_before) == (frozenset(), event.at + timedelta(seconds=5))


def test_f5_a_start_that_failed_on_another_node_as_well_is_a_failed_start() -> None:
    (event,) = look(replace(starting(), failed_starts=2), shows(CROWDED, replace(REJECTED, rank=1))).events
    assert isinstance(event, StartFailed)
    assert (event.nodes, event.crowded, event.give_up) == ({"b"}, False, True)


def test_f5_who_ran_there_was_not_crowded_out() -> None:
    """A kubelet that was restarted may reject a pod that it has run."""
    task = follow(follow(starting(), shows(is_up(0), is_up(1))), shows(CROWDED, is_up(1)))
    assert (task.run.ranks[0].state, task.run.ranks[0].crowded) == (LOST, False)


# --- evictions that were not seen

EVICTED = replace(GONE, leaving_by=at(3))


@pytest.mark.parametrize("profile", list(Profile))
@pytest.mark.parametrize("end", [EVICTED, replace(EVICTED, state=LOST, exit_code=None)], ids=["ended", "lost"])
def test_a_rank_that_was_evicted_and_ended_unseen_is_resumed(profile, end) -> None:
    task = a_task(state=TaskState.RUNNING, profile=profile, retry=Retry(count=1))
    task = follow(task, shows(end))
    assert (task.state, task.reason, task.retries) == (TaskState.SUSPENDED, Reason.EVICTED, 0)
    assert task.run.failed_ranks == ()


def test_of_a_gang_the_others_leave_when_one_was_evicted_unseen() -> None:
    task = a_task(state=TaskState.RUNNING, nodes=2, run=a_run(nodes=2))
    task = follow(task, shows(EVICTED, is_up(1)))
    assert (task.state, task.run.notice.reason, task.run.failed_ranks) == (TaskState.SUSPENDING, Reason.EVICTED, ())
    assert task.run.killed_at == at(5)
    task = follow(task, shows(EVICTED, replace(GONE, rank=1)))
    assert (task.state, task.reason) == (TaskState.SUSPENDED, Reason.EVICTED)


def test_a_job_that_was_evicted_and_says_that_it_has_saved_was_evicted_and_has_given_nothing_back() -> None:
    task = follow(a_task(state=TaskState.RUNNING), shows(replace(EVICTED, exit_code=0, done=True)))
    assert (task.state, task.reason, task.run.left) == (TaskState.SUSPENDED, Reason.EVICTED, Left.SAVED)


def test_a_rank_whose_end_is_known_is_not_evicted_afterwards() -> None:
    task = a_task(state=TaskState.RUNNING, nodes=2, run=a_run(nodes=2))
    task = follow(task, shows(replace(GONE, exit_code=0), is_up(1)))
    assert follow(task, shows(replace(EVICTED, exit_code=0), is_up(1))) == task


def test_a_run_of_a_restored_database_was_told_to_leave_if_any_of_its_ranks_was() -> None:
    """The notice is lost; one of two ranks has heard of it."""
    task = a_task(state=TaskState.RUNNING, nodes=2, run=a_run(nodes=2))
    for heard in ({"signalled": True}, {"notified_at": at(3)}):
        observation = shows(is_up(0, **heard), is_up(1))
        seen = reconcile(task, observation, at(9), max_failed_starts=3, older=True)
        assert isinstance(seen.events[0], AskedToSuspend)
        assert seen.events[0].reason is Reason.RESTORED
    seen = reconcile(task, shows(is_up(0), is_up(1)), at(9), max_failed_starts=3, older=True)
    assert not any(isinstance(event, AskedToSuspend) for event in seen.events)


@pytest.mark.parametrize("known", [90, None], ids=["told", "not told, as the service was away"])
@pytest.mark.parametrize(
    ("ranks", "found"),
    [
        ([(70, True), (90, False)], 70),
        ([(70, True), (60, True)], 60),
        ([(None, True), (60, True)], None),
        ([(90, False), (80, False)], 90),
    ],
)
def test_the_oldest_checkpoint_that_is_left_counts_where_one_is_spoilt(
    ranks: list[tuple[int | None, bool]], found: int | None, known: int | None
) -> None:
    checkpoint = None if known is None else a_checkpoint(at=at(known))
    task = replace(starting(checkpoint=checkpoint), state=TaskState.RUNNING)
    seen = [
        is_up(number, spoilt=spoilt, checkpoint=None if second is None else a_checkpoint(at=at(second)))
        for number, (second, spoilt) in enumerate(ranks)
    ]
    for _ in range(2):
        for event in look(task, shows(*seen)).events:
            task, _ = advance(task, event)
        assert task.run is not None
        assert (task.run.checkpoint and task.run.checkpoint.at) == (None if found is None else at(found))


@pytest.mark.parametrize(("done_all", "rank"), [(False, 1), (True, None)], ids=["for itself", "for all"])
def test_a_rank_says_that_it_is_done(done_all: bool, rank: int | None) -> None:
    task = a_task(state=TaskState.RUNNING, nodes=2, run=a_run(nodes=2))
    events = look(task, shows(is_up(0), is_up(1, done=True, done_all=done_all))).events
    assert [event.rank for event in events if isinstance(event, Done)] == [rank]


@pytest.mark.parametrize(
    ("state", "killed", "own"), [(LOST, True, True), (LOST, False, False), (EXITED, True, False)], ids=lambda v: str(v)
)
def test_a_supervisor_was_killed_if_its_rank_is_lost_for_that_reason(state: RankState, killed: bool, own: bool) -> None:
    task = a_task(state=TaskState.RUNNING, nodes=2, run=a_run(nodes=2))
    shown = RankObservation(rank=1, state=state, exit_code=143 if state is EXITED else None, supervisor_killed=killed)
    (event,) = look(task, shows(is_up(0), shown)).events
    assert isinstance(event, RanksSeen)
    assert [rank.supervisor_killed for rank in event.ranks] == [False, own]


def test_a_rank_that_its_node_does_not_know_says_so() -> None:
    task = a_task(state=TaskState.RUNNING, nodes=2, run=a_run(nodes=2))
    (event,) = look(task, shows(is_up(0))).events
    assert isinstance(event, RanksSeen)
    assert [rank.message for rank in event.ranks] == [None, "its node no longer knows of it"]


@pytest.mark.parametrize(("failed", "gives_up"), [(0, False), (1, False), (2, True), (3, True)])
def test_the_third_start_in_a_row_that_comes_to_nothing_is_the_last(failed: int, gives_up: bool) -> None:
    """Of starts that failed, and of supervisors that were killed (H4)."""
    error = RankObservation(rank=0, state=EXITED, start_error="no disk", blame=Blame.NODE)
    nothing = replace(starting(), failed_starts=failed)
    (event,) = look(nothing, shows(error, replace(error, rank=1))).events
    assert isinstance(event, StartFailed)
    assert (event.give_up, event.message) == (gives_up, "no disk")
    up = a_task(state=TaskState.RUNNING, nodes=1, run=a_run(ranks=(Rank(rank=0, node="a", state=RUNNING),)))
    killed = RankObservation(rank=0, state=LOST, supervisor_killed=True)
    (event,) = look(replace(up, failed_starts=failed), shows(killed)).events
    assert isinstance(event, RanksSeen)
    assert event.give_up is gives_up


def test_a_rank_that_the_run_does_not_have_is_ignored() -> None:
    """A report may be forged."""
    assert (
        look(starting(), shows(is_up(0), is_up(1))).events
        == look(starting(), shows(is_up(0), is_up(1), is_up(2, done=True))).events
    )


def test_what_a_rank_says_of_its_end_is_kept() -> None:
    up = a_task(state=TaskState.RUNNING, nodes=1, run=a_run(ranks=(Rank(rank=0, node="a", state=RUNNING),)))
    end = RankObservation(rank=0, state=EXITED, exit_code=139, signal=11, caught=True)
    (event,) = look(up, shows(end)).events
    assert isinstance(event, RanksSeen)
    assert (event.ranks[0].exit_code, event.ranks[0].signal, event.ranks[0].caught) == (139, 11, True)
