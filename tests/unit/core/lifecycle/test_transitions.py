"""The table of states: every pair of state and event, and the stories that cross several of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hai_scheduler.core.lifecycle import events as ev
from hai_scheduler.core.lifecycle.transitions import (
    MOST_BACKOFF,
    TRANSITIONS,
    InvalidTransition,
    Kill,
    Launch,
    RingNotice,
    advance,
)
from hai_scheduler.core.model.leaving import Left, Profile
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Fallback, Rank, RankState, Run
from hai_scheduler.core.model.task import KEPT_ROTATIONS, Retry, Task, TaskState
from kit.builders import T0, a_checkpoint, a_notice, a_run, a_task, at

EVENTS: dict[type[ev.Event], ev.Event] = {
    type(event): event
    for event in (
        ev.Started(at=at(10), nodes=("node-1",), priority=Priority.NORMAL),
        ev.Promised(at=at(10), nodes=frozenset({"node-1"})),
        ev.AskedToSuspend(at=at(10), reason=Reason.PREEMPTED),
        ev.AskedToStop(at=at(10), reason=Reason.USER_STOPPED),
        ev.Held(at=at(10)),
        ev.Released(at=at(10)),
        ev.RanksSeen(at=at(10), ranks=(Rank(rank=0, node="node-1", state=RankState.RUNNING),)),
        ev.NoticeReceived(at=at(10), rank=0),
        ev.Saving(at=at(10), seconds=5),
        ev.Saved(at=at(10), checkpoint=a_checkpoint()),
        ev.Spoilt(at=at(10), checkpoint=None),
        ev.StateKept(at=at(10), text="epoch 3"),
        ev.GpusIdle(at=at(10), rank=0, since=at(5)),
        ev.FellBack(at=at(10), rank=0, why=Fallback.MEMLOCK),
        ev.Done(at=at(10), rank=0),
        ev.Overdue(at=at(10)),
        ev.TimeSkipped(at=at(10), by=timedelta(hours=1)),
        ev.StartFailed(at=at(10), message="no disk", nodes=frozenset({"node-1"}), give_up=False),
    )
}
LEAVING = (TaskState.SUSPENDING, TaskState.STOPPING)


def in_state(state: TaskState, **fields: object) -> Task:
    task = a_task(state=state, **fields)
    if state in LEAVING:
        assert task.run is not None
        task = replace(task, run=replace(task.run, notice=a_notice()))
    return task


def running(task: Task) -> Run:
    assert task.run is not None
    return task.run


def exits(*codes: int | None, lost: bool = False) -> ev.RanksSeen:
    state = RankState.LOST if lost else RankState.EXITED
    ranks = tuple(Rank(rank=n, node=f"node-{n + 1}", state=state, exit_code=c) for n, c in enumerate(codes))
    return ev.RanksSeen(at=at(60), ranks=ranks)


def test_every_event_class_is_walked() -> None:
    assert {cls for cls in vars(ev).values() if isinstance(cls, type) and issubclass(cls, ev.Event)} == {
        ev.Event,
        *EVENTS,
    }


@pytest.mark.parametrize("state", TaskState)
@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
def test_every_pair_is_in_the_table_or_an_error(state: TaskState, kind: type[ev.Event]) -> None:
    task = in_state(state)
    if (state, kind) not in TRANSITIONS:
        with pytest.raises(InvalidTransition, match=state.value):
            advance(task, EVENTS[kind])
        return
    after, _ = advance(task, EVENTS[kind])
    assert after.state.live == (after.live_run is not None), "holds nodes if, and only if, it has a live run"
    assert after.state.ended == (after.ended_at is not None)
    assert (after.id, after.user, after.submitted_at) == (task.id, task.user, task.submitted_at)


@pytest.mark.parametrize("state", [TaskState.SUCCEEDED, TaskState.FAILED, TaskState.STOPPED])
@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
def test_what_has_ended_never_changes(state: TaskState, kind: type[ev.Event]) -> None:
    task = in_state(state)
    if (state, kind) in TRANSITIONS:
        assert advance(task, EVENTS[kind]) == (task, ())


def test_a_start_gives_it_a_numbered_run_and_launches_it() -> None:
    task, effects = advance(a_task(7), ev.Started(at=T0, nodes=("b", "a"), priority=Priority.HIGH))
    assert running(task).id == "7.1"
    assert running(task).nodes == ("b", "a")
    assert effects == (Launch(task.id, running(task).id),)
    again = replace(task, state=TaskState.SUSPENDED, run=replace(running(task), ended_at=T0))
    again, _ = advance(again, ev.Started(at=T0, nodes=("c",), priority=Priority.LOW))
    assert running(again).id == "7.2"


def test_it_runs_when_every_rank_is_up() -> None:
    task, _ = advance(a_task(nodes=2), ev.Started(at=T0, nodes=("a", "b"), priority=Priority.NORMAL))
    up, pending = Rank(rank=0, node="a", state=RankState.RUNNING), Rank(rank=1, node="b")
    task, _ = advance(task, ev.RanksSeen(at=at(1), ranks=(up, pending)))
    assert task.state is TaskState.STARTING
    task, _ = advance(task, ev.RanksSeen(at=at(2), ranks=(up, replace(pending, state=RankState.RUNNING))))
    assert task.state is TaskState.RUNNING
    assert running(task).running_at == at(2)


def test_the_notice_carries_grace_limit_and_beneficiary() -> None:
    task = a_task(state=TaskState.RUNNING, grace=timedelta(seconds=30))
    event = ev.AskedToSuspend(at=at(5), reason=Reason.PREEMPTED, beneficiary=9, limit=timedelta(seconds=90))
    told, effects = advance(task, event)
    notice = running(told).notice
    assert notice is not None
    assert (notice.deadline, notice.limit, notice.beneficiary) == (at(35), at(95), 9)
    assert effects == (RingNotice(running(told).id),)


@pytest.mark.parametrize(
    ("sentence", "seconds", "deadline"),
    [
        ("more time moves the deadline", 200, at(10 + 200)),
        ("never beyond the limit", 9999, at(1800)),
        ("never back", 1, at(120)),
    ],
)
def test_saving(sentence: str, seconds: float, deadline: object) -> None:
    task, effects = advance(in_state(TaskState.SUSPENDING), ev.Saving(at=at(10), seconds=seconds))
    notice = running(task).notice
    assert notice is not None
    assert notice.deadline == deadline, sentence
    assert bool(effects) == (deadline != at(120))


def test_a_second_wish_to_suspend_only_ever_shortens() -> None:
    task = in_state(TaskState.SUSPENDING)
    same, effects = advance(task, ev.AskedToSuspend(at=at(1), reason=Reason.PAUSED))
    assert (same, effects) == (task, ())
    sooner, _ = advance(task, ev.AskedToSuspend(at=at(1), reason=Reason.PAUSED, at_most=timedelta(seconds=20)))
    notice = running(sooner).notice
    assert notice is not None
    assert (notice.deadline, notice.reason, notice.revision) == (at(21), Reason.TURN_OVER, 2)


def test_profile_kill_gets_no_time() -> None:
    task = a_task(state=TaskState.RUNNING, profile=Profile.KILL)
    told, effects = advance(task, ev.AskedToSuspend(at=at(5), reason=Reason.PREEMPTED))
    assert Kill(running(told).id) in effects
    assert running(told).killed_at == at(5)


def test_done_by_every_rank_is_saved_whatever_the_exit() -> None:
    task = a_task(state=TaskState.SUSPENDING, nodes=2, profile=Profile.COOPERATIVE)
    task = replace(task, run=replace(running(task), notice=a_notice()))
    task, effects = advance(task, ev.Done(at=at(20), rank=0))
    assert effects == (), "the other rank is still saving"
    task, effects = advance(task, ev.Done(at=at(21), rank=1))
    assert effects == (Kill(running(task).id),), "now the nodes are freed at once"
    task, _ = advance(task, exits(0, 143))
    assert (task.state, running(task).left) == (TaskState.SUSPENDED, Left.SAVED)


def test_requeue_by_one_rank_speaks_for_all() -> None:
    task = a_task(state=TaskState.SUSPENDING, nodes=3, profile=Profile.SLURM)
    task = replace(task, run=replace(running(task), notice=a_notice()))
    task, effects = advance(task, ev.Done(at=at(20), rank=None))
    assert effects == (Kill(running(task).id),)


def test_a_job_may_give_its_nodes_back_unasked() -> None:
    task, _ = advance(a_task(state=TaskState.RUNNING), ev.Done(at=at(9), rank=0))
    task, _ = advance(task, exits(0))
    assert (task.state, task.reason, running(task).left) == (TaskState.SUSPENDED, Reason.YIELDED, Left.SAVED)


def test_a_lost_rank_ends_the_others_and_costs_the_task_no_retry_and_no_suspension() -> None:
    task = a_task(state=TaskState.RUNNING, nodes=2)
    gone = Rank(rank=0, node="node-1", state=RankState.LOST)
    left = Rank(rank=1, node="node-2", state=RankState.RUNNING)
    task, effects = advance(task, ev.RanksSeen(at=at(50), ranks=(gone, left)))
    assert effects == (Kill(running(task).id),)
    assert task.state.live, "B4: a node belongs to its run until every rank is known to be gone"
    task, _ = advance(task, ev.RanksSeen(at=at(60), ranks=(gone, replace(left, state=RankState.EXITED, exit_code=143))))
    assert (task.state, task.reason) == (TaskState.SUSPENDED, Reason.NODE_LOST)
    assert task.avoid == {"node-1"}
    assert (task.suspensions, task.retries) == (0, 0)


@pytest.mark.parametrize("reason", [Reason.TURN_OVER, Reason.PREEMPTED, Reason.DRAINED, Reason.USER_SUSPENDED])
def test_a_task_that_has_left_waits_again_and_keeps_its_submission(reason: Reason) -> None:
    task = a_task(state=TaskState.SUSPENDING)
    task = replace(task, run=replace(running(task), notice=a_notice(reason)))
    after, _ = advance(task, exits(143))
    assert (after.waiting_since, after.submitted_at) == (at(60), T0)


def test_a_lost_node_makes_the_task_wait_again() -> None:
    after, _ = advance(a_task(state=TaskState.RUNNING), exits(None, lost=True))
    assert after.waiting_since == at(60)


def test_a_start_does_not_touch_since_when_it_had_waited() -> None:
    task = a_task(waiting_since=at(-50))
    started, _ = advance(task, ev.Started(at=at(5), nodes=("a",), priority=Priority.NORMAL))
    assert started.waiting_since == at(-50)


@pytest.mark.parametrize("state", [TaskState.QUEUED, TaskState.SUSPENDED])
def test_a_release_begins_the_waiting_again(state: TaskState) -> None:
    released, _ = advance(a_task(state=state, held=True), ev.Released(at=at(500)))
    assert (released.held, released.waiting_since) == (False, at(500))


@pytest.mark.parametrize(
    ("state", "held"),
    [(TaskState.QUEUED, False), (TaskState.SUSPENDED, False), (TaskState.RUNNING, True)],
    ids=["queued and never held", "suspended and never held", "held while it runs"],
)
def test_a_release_of_what_was_not_kept_waiting_changes_no_time(state: TaskState, held: bool) -> None:
    released, _ = advance(a_task(state=state, held=held), ev.Released(at=at(500)))
    assert (released.held, released.waiting_since) == (False, T0)


def test_lost_work_is_node_time_since_the_last_checkpoint() -> None:
    task = a_task(state=TaskState.SUSPENDING, nodes=2)
    run = replace(running(task), notice=a_notice(), killed_at=at(59), checkpoint=a_checkpoint(at=at(40)))
    after, _ = advance(replace(task, run=run), exits(137, 137))
    assert running(after).lost == timedelta(seconds=40)
    assert after.served == timedelta(seconds=60)


def test_a_stop_during_a_suspension_keeps_the_deadline() -> None:
    task, effects = advance(in_state(TaskState.SUSPENDING), ev.AskedToStop(at=at(50), reason=Reason.USER_STOPPED))
    notice = running(task).notice
    assert notice is not None
    assert (task.state, notice.deadline, notice.revision) == (TaskState.STOPPING, at(120), 2)
    assert effects == (RingNotice(running(task).id),)
    ended, _ = advance(task, exits(143))
    assert (ended.state, ended.reason) == (TaskState.STOPPED, Reason.USER_STOPPED)


def test_reaching_the_time_limit_is_a_failure() -> None:
    task, _ = advance(a_task(state=TaskState.RUNNING), ev.AskedToStop(at=at(50), reason=Reason.TIME_LIMIT))
    ended, _ = advance(task, exits(143))
    assert (ended.state, ended.reason) == (TaskState.FAILED, Reason.TIME_LIMIT)


def test_failed_starts_are_given_up_in_the_end() -> None:
    task = a_task(state=TaskState.STARTING)
    again, _ = advance(task, EVENTS[ev.StartFailed])
    assert (again.state, again.failed_starts, again.avoid) == (TaskState.SUSPENDED, 1, {"node-1"})
    assert again.waiting_since == at(10), "its wait begins again"
    over, _ = advance(task, replace(EVENTS[ev.StartFailed], give_up=True))
    assert (over.state, over.reason, over.not_before) == (TaskState.FAILED, Reason.START_FAILED, None)


def test_an_eviction_that_was_seen_after_the_end_is_no_failure_of_a_job_that_polls() -> None:
    for code, state in ((143, TaskState.SUSPENDED), (0, TaskState.SUCCEEDED)):
        task = a_task(state=TaskState.RUNNING, profile=Profile.COOPERATIVE)
        task, _ = advance(task, ev.AskedToSuspend(at=at(50), reason=Reason.EVICTED))
        task, _ = advance(task, exits(code))
        assert task.state is state


def test_each_rank_gets_the_gpus_that_it_was_given() -> None:
    event = ev.Started(at=T0, nodes=("a", "b"), priority=Priority.NORMAL, gpus=((0, 3), (1, 2)))
    task, _ = advance(a_task(nodes=2, gpus=2), event)
    assert [(rank.node, rank.gpus) for rank in running(task).ranks] == [("a", (0, 3)), ("b", (1, 2))]
    whole, _ = advance(a_task(nodes=2), ev.Started(at=T0, nodes=("a", "b"), priority=Priority.NORMAL))
    assert [rank.gpus for rank in running(whole).ranks] == [(), ()]


@pytest.mark.parametrize("reason", [Reason.TURN_OVER, Reason.PREEMPTED, Reason.DRAINED, Reason.USER_SUSPENDED])
def test_only_leaving_for_an_equal_is_remembered_as_a_rotation(reason: Reason) -> None:
    task = a_task(state=TaskState.RUNNING, rotations=(at(1),))
    told, _ = advance(task, ev.AskedToSuspend(at=at(5), reason=reason))
    assert told.rotations == ((at(1), at(5)) if reason is Reason.TURN_OVER else (at(1),))


def test_only_the_latest_rotations_are_remembered_oldest_first() -> None:
    full = tuple(at(second) for second in range(KEPT_ROTATIONS))
    task = a_task(state=TaskState.RUNNING, rotations=full)
    told, _ = advance(task, ev.AskedToSuspend(at=at(99), reason=Reason.TURN_OVER))
    assert told.rotations == (*full[1:], at(99))


def test_starting_is_measured_from_the_order_until_every_rank_is_up() -> None:
    task, _ = advance(a_task(nodes=2), ev.Started(at=at(3), nodes=("a", "b"), priority=Priority.NORMAL))
    up, pending = Rank(rank=0, node="a", state=RankState.RUNNING), Rank(rank=1, node="b")
    task, _ = advance(task, ev.RanksSeen(at=at(5), ranks=(up, pending)))
    assert task.starting_took is None
    ranks = (up, replace(pending, state=RankState.RUNNING))
    task, _ = advance(task, ev.RanksSeen(at=at(10), ranks=ranks))
    task, _ = advance(task, ev.RanksSeen(at=at(20), ranks=ranks))
    assert task.starting_took == timedelta(seconds=7)


def test_leaving_is_measured_from_the_notice_until_all_of_it_is_gone() -> None:
    task = a_task(state=TaskState.SUSPENDING, starting_took=timedelta(seconds=7))
    task = replace(task, run=replace(running(task), notice=a_notice(at=at(40))))
    after, _ = advance(task, exits(143))
    assert after.leaving_took == timedelta(seconds=20)
    assert after.switch_cost == timedelta(seconds=27)


def test_a_run_that_was_not_told_to_leave_measures_no_leaving() -> None:
    task = a_task(state=TaskState.RUNNING, leaving_took=timedelta(seconds=4))
    after, _ = advance(task, exits(None, lost=True))
    assert after.leaving_took == timedelta(seconds=4)


def test_a_failure_without_a_retry_policy_is_the_end() -> None:
    over, _ = advance(a_task(state=TaskState.RUNNING), exits(1))
    assert (over.state, over.retries, over.not_before) == (TaskState.FAILED, 0, None)


def test_a_failure_is_retried_after_a_back_off_that_doubles_each_time() -> None:
    task = a_task(retry=Retry(count=3, backoff=timedelta(seconds=30)))
    waits = []
    for _ in range(3):
        task, _ = advance(task, ev.Started(at=at(50), nodes=("node-1",), priority=Priority.NORMAL))
        assert task.not_before is None, "it has started"
        task, effects = advance(task, exits(1))
        assert (task.state, task.reason, effects) == (TaskState.SUSPENDED, Reason.FAILED, ())
        assert task.not_before == task.waiting_since, "the back-off is no waiting"
        assert task.not_before is not None
        waits.append(task.not_before - at(60))
    assert waits == [timedelta(seconds=30), timedelta(seconds=60), timedelta(seconds=120)]
    assert task.retries == 3
    assert (task.suspensions, task.avoid) == (0, frozenset()), "neither its turn nor its node is blamed"


def test_a_task_whose_retries_are_used_up_fails() -> None:
    task = a_task(state=TaskState.RUNNING, retry=Retry(count=2), retries=2)
    over, _ = advance(task, exits(1))
    assert (over.state, over.retries, over.ended_at) == (TaskState.FAILED, 2, at(60))


@pytest.mark.parametrize(
    ("codes", "wanted", "state"),
    [
        pytest.param((1,), set(), TaskState.SUSPENDED, id="any failure, when none is named"),
        pytest.param((137,), {75, 137}, TaskState.SUSPENDED, id="one that is named"),
        pytest.param((1,), {75, 137}, TaskState.FAILED, id="one that is not named"),
        pytest.param((0, 75), {75}, TaskState.SUSPENDED, id="one rank's is enough"),
    ],
)
def test_exit_statuses_decide_whether_a_failure_is_retried(
    codes: tuple[int, ...], wanted: set[int], state: TaskState
) -> None:
    task = a_task(state=TaskState.RUNNING, nodes=len(codes), retry=Retry(count=1, exit_codes=frozenset(wanted)))
    after, _ = advance(task, exits(*codes))
    assert after.state is state


def seen(*ranks: tuple[RankState, int | None]) -> ev.RanksSeen:
    shown = tuple(Rank(rank=n, node=f"node-{n + 1}", state=s, exit_code=c) for n, (s, c) in enumerate(ranks))
    return ev.RanksSeen(at=at(60), ranks=shown)


UP = (RankState.RUNNING, None)
FAILED = (RankState.EXITED, 1)
KILLED = (RankState.EXITED, 137)
LOST = (RankState.LOST, None)


@pytest.mark.parametrize(
    ("wanted", "state"), [({137}, TaskState.FAILED), ({1}, TaskState.SUSPENDED)], ids=["the killed one", "the failed"]
)
def test_what_killed_ranks_end_with_does_not_decide_a_retry(wanted: set[int], state: TaskState) -> None:
    task = a_task(state=TaskState.RUNNING, nodes=2, retry=Retry(count=1, exit_codes=frozenset(wanted)))
    broken, effects = advance(task, seen(FAILED, UP))
    assert effects == (Kill(running(broken).id),)
    over, _ = advance(broken, seen(FAILED, KILLED))
    assert (over.state, over.reason, running(over).failed_ranks) == (state, Reason.FAILED, (0,))


def test_ranks_that_fail_by_themselves_together_all_count() -> None:
    over, _ = advance(a_task(state=TaskState.RUNNING, nodes=3), seen(FAILED, (RankState.EXITED, 0), KILLED))
    assert running(over).failed_ranks == (0, 2)
    assert running(over).failure_codes == {1, 137}


@pytest.mark.parametrize(
    ("event", "ranks", "state", "failed"),
    [
        pytest.param(None, (FAILED, LOST), TaskState.FAILED, (0,), id="a node is lost while the others are ended"),
        pytest.param(
            ev.AskedToSuspend(at=at(55), reason=Reason.PREEMPTED), (FAILED, KILLED), TaskState.FAILED, (0,), id="asked"
        ),
        pytest.param(
            ev.AskedToStop(at=at(55), reason=Reason.USER_STOPPED),
            (FAILED, KILLED),
            TaskState.STOPPED,
            (0,),
            id="stopped",
        ),
    ],
)
def test_a_command_that_has_failed_has_failed_whatever_comes_after(
    event: ev.Event | None, ranks: tuple[tuple[RankState, int | None], ...], state: TaskState, failed: tuple[int, ...]
) -> None:
    task, _ = advance(a_task(state=TaskState.RUNNING, nodes=2), seen(FAILED, UP))
    if event is not None:
        task, _ = advance(task, event)
    over, _ = advance(task, seen(*ranks))
    assert (over.state, running(over).failed_ranks) == (state, failed)


def test_who_fails_with_a_node_that_is_lost_is_not_blamed() -> None:
    task, _ = advance(a_task(state=TaskState.RUNNING, nodes=3), seen(LOST, FAILED, UP))
    over, _ = advance(task, seen(LOST, FAILED, KILLED))
    assert (over.state, over.reason, running(over).failed_ranks) == (TaskState.SUSPENDED, Reason.NODE_LOST, ())


def test_no_back_off_is_longer_than_a_day() -> None:
    for backoff in (timedelta(seconds=1), timedelta(hours=13), timedelta.max):
        task = a_task(state=TaskState.RUNNING, retry=Retry(count=100, backoff=backoff), retries=99)
        after, _ = advance(task, exits(1))
        assert after.not_before == at(60) + MOST_BACKOFF == at(60, hours=24)


@pytest.mark.parametrize(
    ("reason", "state"),
    [(Reason.TIME_LIMIT, TaskState.FAILED), (Reason.USER_STOPPED, TaskState.STOPPED)],
    ids=["the time limit", "its owner's stop"],
)
def test_no_retry_follows_a_stop(reason: Reason, state: TaskState) -> None:
    task = a_task(state=TaskState.RUNNING, retry=Retry(count=5))
    task, _ = advance(task, ev.AskedToStop(at=at(50), reason=reason))
    over, _ = advance(task, exits(1))
    assert (over.state, over.retries) == (state, 0)


def test_success_needs_no_retry() -> None:
    over, _ = advance(a_task(state=TaskState.RUNNING, retry=Retry(count=5)), exits(0))
    assert (over.state, over.retries) == (TaskState.SUCCEEDED, 0)


def test_a_lost_node_costs_no_retry() -> None:
    after, _ = advance(a_task(state=TaskState.RUNNING, retry=Retry(count=5)), exits(None, lost=True))
    assert (after.state, after.retries, after.not_before) == (TaskState.SUSPENDED, 0, None)


def test_a_retry_without_a_back_off_waits_from_now_on() -> None:
    after, _ = advance(a_task(state=TaskState.RUNNING, retry=Retry(count=100), retries=99), exits(1))
    assert (after.not_before, after.waiting_since) == (at(60), at(60))


def test_a_failed_run_that_is_retried_counts_as_service() -> None:
    after, _ = advance(a_task(state=TaskState.RUNNING, retry=Retry(count=1)), exits(1))
    assert after.served == timedelta(seconds=60)


def test_a_new_run_keeps_nothing_of_the_old_notice() -> None:
    old = a_run(1, 1, notice=a_notice(), ended_at=at(60))
    task, _ = advance(
        a_task(state=TaskState.SUSPENDED, run=old), ev.Started(at=at(70), nodes=("x",), priority=Priority.NORMAL)
    )
    assert running(task).notice is None
    assert running(task).number == 2
