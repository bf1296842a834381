"""Nodes that fail, commands that fail, and what else must leave (rules H1 to H3)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hai_scheduler.core.lifecycle.events import Done, RanksSeen
from hai_scheduler.core.lifecycle.transitions import advance
from hai_scheduler.core.model.decisions import Start, Stop, Suspend
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import RankState
from hai_scheduler.core.model.task import Retry, Task, TaskState
from hai_scheduler.core.model.verdicts import VerdictKind
from kit.builders import a_node, a_rank
from unit.core.tables import (
    HIGH,
    NOW,
    ago,
    decide,
    for_minutes,
    kinds,
    leaving,
    order,
    runs,
    snapshot,
    starts,
    suspends,
    waits,
)

SECOND = timedelta(seconds=1)


def ended(task: Task, *states: tuple[RankState, int | None]) -> Task:
    """The task after its ranks were observed in these states, with these exit codes."""
    ranks = tuple(a_rank(n, state=state, exit_code=code) for n, (state, code) in enumerate(states))
    return advance(task, RanksSeen(at=NOW, ranks=ranks))[0]


# -- H1 -----------------------------------------------------------------------------------------------

LOST = (RankState.LOST, None)
KILLED = (RankState.EXITED, 137)


def test_h1_a_lost_node_ends_the_run_and_the_task_waits_again() -> None:
    after = ended(runs(1, "node-1", "node-2"), LOST, KILLED)
    assert (after.state, after.reason) == (TaskState.SUSPENDED, Reason.NODE_LOST)
    assert after.avoid == {"node-1"}


def test_h1_a_run_that_is_ended_for_a_lost_rank_is_nobodys_victim_and_its_nodes_are_promised() -> None:
    broken = ended(runs(1, "node-1", "node-2"), LOST, (RankState.RUNNING, None))
    assert broken.run is not None
    assert broken.run.killed_at == NOW
    nodes = (a_node("node-1", ready=False), a_node("node-2"))
    made = decide(snapshot(broken, waits(2, 1, priority=HIGH), nodes=nodes))
    assert suspends(made) == {}
    assert kinds(made) == {2: VerdictKind.DRAINING}


def test_h1_a_rank_that_saves_while_it_is_ended_for_a_lost_one_gives_nothing_back() -> None:
    broken = ended(runs(1, "node-1", "node-2"), LOST, (RankState.RUNNING, None))
    saved, _ = advance(broken, Done(at=NOW, rank=1))
    after = ended(saved, LOST, (RankState.EXITED, 0))
    assert (after.state, after.reason) == (TaskState.SUSPENDED, Reason.NODE_LOST)


def test_h1_the_task_starts_again_elsewhere_without_any_delay() -> None:
    after = ended(runs(1, "node-1", "node-2"), LOST, KILLED)
    assert starts(decide(snapshot(after, nodes=3))) == {1: ("node-2", "node-3")}


def test_h1_it_costs_no_retry_and_counts_as_no_suspension() -> None:
    fragile = runs(1, "node-1", retry=Retry(count=1, backoff=for_minutes(60)))
    after = ended(fragile, LOST)
    assert (after.retries, after.not_before, after.suspensions, after.rotations) == (0, None, 0, ())


def test_h1_it_keeps_its_place_among_its_users_tasks() -> None:
    after = ended(runs(1, "node-1", minutes=1, user="ann", submitted_at=ago(90)), LOST)
    full = (runs(8, "node-1", level=HIGH), runs(9, "node-2", level=HIGH))
    assert order(decide(snapshot(*full, after, waits(2, user="ann", submitted_at=ago(80)), nodes=2))) == [1, 2]


def test_h1_the_gang_is_not_started_while_a_rank_may_be_left() -> None:
    half = ended(runs(1, "node-1", "node-2"), LOST, (RankState.RUNNING, None))
    assert half.state is TaskState.RUNNING
    assert starts(decide(snapshot(half, nodes=4))) == {}


# -- H2 -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "retry", "code", "state"),
    [
        ("without a retry policy it fails", None, 1, TaskState.FAILED),
        ("with one it waits again", Retry(count=1), 1, TaskState.SUSPENDED),
        (
            "a status that is not among those named fails",
            Retry(count=1, exit_codes=frozenset({2})),
            1,
            TaskState.FAILED,
        ),
        ("one that is named waits again", Retry(count=1, exit_codes=frozenset({2})), 2, TaskState.SUSPENDED),
        ("no retry is left", Retry(count=0), 1, TaskState.FAILED),
        ("success is success", Retry(count=1), 0, TaskState.SUCCEEDED),
    ],
)
def test_h2_a_failing_command_is_the_users(sentence: str, retry: Retry | None, code: int, state: TaskState) -> None:
    assert ended(runs(1, "node-1", retry=retry), (RankState.EXITED, code)).state is state, sentence


@pytest.mark.parametrize(
    ("wait", "begins"), [(SECOND, False), (timedelta(0), True), (-SECOND, True)], ids=["before", "then", "after"]
)
def test_h2_a_retry_waits_for_its_back_off(wait: timedelta, begins: bool) -> None:
    again = waits(1, not_before=NOW + wait, retries=1, retry=Retry(count=3))
    made = decide(snapshot(again))
    assert (1 in starts(made)) is begins
    if not begins:
        verdict = made.verdicts[1]
        assert (verdict.kind, verdict.earliest_start) == (VerdictKind.RETRY, NOW + wait)
        assert (verdict.data["retries"], verdict.data["of"]) == (1, 3)
        assert made.look_again == NOW + wait


def test_h2_who_waits_for_a_back_off_stands_in_nobodys_way_and_nobody_leaves_for_it() -> None:
    again = waits(1, 2, not_before=NOW + SECOND, priority=HIGH)
    made = decide(snapshot(again, runs(2, "node-1"), waits(3), nodes=2))
    assert (set(starts(made)), suspends(made)) == ({3}, {})


def test_h2_a_failing_command_strikes_no_node() -> None:
    after = ended(runs(1, "node-1", retry=Retry(count=1)), (RankState.EXITED, 1))
    assert after.avoid == frozenset()


# -- H4 -----------------------------------------------------------------------------------------------


def killed(task: Task, *, give_up: bool = False, others: int = 0) -> Task:
    """The task after the supervisor of its rank 0 was killed now; its other ranks were ended."""
    lost = a_rank(0, state=RankState.LOST, supervisor_killed=True)
    rest = tuple(a_rank(n + 1, state=RankState.EXITED, exit_code=137) for n in range(others))
    return advance(task, RanksSeen(at=NOW, ranks=(lost, *rest), give_up=give_up))[0]


def test_h4_a_killed_supervisor_is_the_tasks_own_doing_and_the_next_start_waits() -> None:
    after = killed(runs(1, "node-1", minutes=1))
    assert (after.state, after.reason, after.failed_starts) == (TaskState.SUSPENDED, Reason.SUPERVISOR_KILLED, 1)
    assert (after.avoid, after.suspensions, after.retries) == (frozenset(), 0, 0)
    assert after.not_before == NOW + 15 * SECOND
    made = decide(snapshot(after))
    assert starts(made) == {}
    assert kinds(made) == {1: VerdictKind.RETRY}


@pytest.mark.parametrize(("row", "wait"), [(0, 15), (1, 30), (2, 60), (50, 300)])
def test_h4_each_one_in_a_row_doubles_the_wait(row: int, wait: int) -> None:
    after = killed(runs(1, "node-1", minutes=1, failed_starts=row))
    assert (after.failed_starts, after.not_before) == (row + 1, NOW + wait * SECOND)


def test_h4_in_the_end_the_task_fails_whatever_its_retries_are() -> None:
    fragile = runs(1, "node-1", minutes=1, failed_starts=2, retry=Retry(count=9))
    after = killed(fragile, give_up=True)
    assert (after.state, after.reason, after.not_before) == (TaskState.FAILED, Reason.SUPERVISOR_KILLED, None)
    assert (after.failed_starts, after.retries, after.ended_at) == (3, 0, NOW)


@pytest.mark.parametrize(("up", "row"), [(59, 3), (60, 1), (6000, 1)])
def test_h4_a_run_that_was_up_for_an_hour_begins_a_new_row(up: float, row: int) -> None:
    assert killed(runs(1, "node-1", minutes=up, failed_starts=2)).failed_starts == row


@pytest.mark.parametrize(
    ("reason", "state"),
    [(Reason.TURN_OVER, TaskState.SUSPENDED), (Reason.USER_STOPPED, TaskState.STOPPED)],
)
def test_h4_a_run_that_leaves_as_it_was_told_to_is_not_counted(reason: Reason, state: TaskState) -> None:
    task = leaving(runs(1, "node-1", minutes=1), None, reason)
    if state is TaskState.STOPPED:
        task = replace(task, state=TaskState.STOPPING)
    after = killed(task, give_up=True)
    assert (after.state, after.reason, after.failed_starts) == (state, reason, 0)


def test_h4_one_rank_that_was_really_lost_excuses_the_gang() -> None:
    lost = a_rank(0, state=RankState.LOST), a_rank(1, state=RankState.LOST, supervisor_killed=True)
    after = advance(runs(1, "node-1", "node-2"), RanksSeen(at=NOW, ranks=lost, give_up=True))[0]
    assert (after.state, after.reason, after.failed_starts) == (TaskState.SUSPENDED, Reason.NODE_LOST, 0)
    assert after.avoid == {"node-1"}


def test_h4_the_gang_is_ended_before_it_waits() -> None:
    ranks = (a_rank(0, state=RankState.LOST, supervisor_killed=True), a_rank(1, state=RankState.RUNNING))
    broken = advance(runs(1, "node-1", "node-2"), RanksSeen(at=NOW, ranks=ranks, give_up=True))[0]
    assert broken.run is not None
    assert (broken.state, broken.run.killed_at) == (TaskState.RUNNING, NOW)
    after = killed(broken, others=1)
    assert (after.state, after.reason) == (TaskState.SUSPENDED, Reason.SUPERVISOR_KILLED)


@pytest.mark.parametrize("end", [(RankState.LOST, None), (RankState.EXITED, 0), (RankState.EXITED, 3)])
def test_h4_a_run_that_ends_otherwise_ends_the_row(end: tuple[RankState, int | None]) -> None:
    assert ended(runs(1, "node-1", failed_starts=2), end).failed_starts == 0


# -- what else must leave -----------------------------------------------------------------------------


def test_draining_asks_the_runs_on_a_node_to_leave() -> None:
    nodes = (a_node("node-1", mark=NodeMark.DRAINING), a_node("node-2"))
    made = decide(snapshot(runs(1, "node-1"), runs(2, "node-2"), nodes=nodes))
    assert made.decisions == (Suspend(task_id=1, reason=Reason.DRAINED),)


def test_draining_one_node_ends_the_turn_of_the_whole_gang() -> None:
    nodes = (a_node("node-1", mark=NodeMark.DRAINING), a_node("node-2"))
    made = decide(snapshot(runs(1, "node-1", "node-2"), nodes=nodes))
    assert made.decisions == (Suspend(task_id=1, reason=Reason.DRAINED),)


def test_draining_tells_no_run_twice() -> None:
    nodes = (a_node("node-1", mark=NodeMark.DRAINING),)
    assert decide(snapshot(leaving(runs(1, "node-1"), None, Reason.DRAINED), nodes=nodes)).decisions == ()


def test_a_pause_asks_all_tasks_to_leave_and_starts_nothing() -> None:
    made = decide(snapshot(runs(1, "node-1"), waits(2), paused=True))
    assert made.decisions == (Suspend(task_id=1, reason=Reason.PAUSED),)
    assert made.verdicts[2].kind is VerdictKind.PAUSED


def test_a_pause_shortens_a_longer_notice_once() -> None:
    going = leaving(runs(1, "node-1"), None)
    grace = timedelta(seconds=20)
    assert suspends(decide(snapshot(going, paused=True, pause_grace=grace))) == {1: None}
    assert going.run is not None
    assert going.run.notice is not None
    shortened = replace(going.run, notice=replace(going.run.notice, deadline=NOW + grace))
    assert decide(snapshot(replace(going, run=shortened), paused=True, pause_grace=grace)).decisions == ()


@pytest.mark.parametrize(("minutes", "stopped"), [(58.99, False), (59, True), (60, True)])
def test_a_task_over_its_time_limit_is_stopped(minutes: float, stopped: bool) -> None:
    limits = {"time_limit": timedelta(minutes=90), "served": timedelta(minutes=31)}
    made = decide(snapshot(runs(1, "node-1", minutes=minutes, **limits)))
    assert made.decisions == ((Stop(task_id=1, reason=Reason.TIME_LIMIT),) if stopped else ())


def test_a_task_over_its_time_limit_that_is_leaving_is_stopped_all_the_same_and_once() -> None:
    over = leaving(runs(1, "node-1", minutes=60, time_limit=for_minutes(60)), None)
    assert decide(snapshot(over)).decisions == (Stop(task_id=1, reason=Reason.TIME_LIMIT),)
    assert decide(snapshot(replace(over, state=TaskState.STOPPING))).decisions == ()


def test_a_held_task_waits_for_its_owner_and_blocks_no_other() -> None:
    made = decide(snapshot(waits(1, 1, held=True), waits(2, 1), nodes=1))
    assert starts(made) == {2: ("node-1",)}
    assert (made.verdicts[1].kind, made.verdicts[1].position) == (VerdictKind.HELD, None)
    assert kinds(made) == {1: VerdictKind.HELD}


def test_a_time_limit_that_is_used_up_while_it_waits_is_told_at_its_next_turn() -> None:
    spent = waits(1, time_limit=for_minutes(60), served=for_minutes(60))
    made = decide(snapshot(spent))
    assert [type(d) for d in made.decisions] == [Start]
