"""Nodes that fail, commands that fail, and what else must leave (rules H1 to H3)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hai_scheduler.core.lifecycle.events import Done, RanksSeen
from hai_scheduler.core.lifecycle.transitions import advance
from hai_scheduler.core.model.decisions import Quarantine, Start, Stop, Suspend
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import NodeMark, Strike
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import RankState
from hai_scheduler.core.model.task import Retry, Task, TaskState
from hai_scheduler.core.model.verdicts import VerdictKind
from hai_scheduler.core.nodes.quarantine import quarantines
from kit.builders import a_node, a_rank, a_strike, some_nodes
from unit.core.tables import (
    HIGH,
    NOW,
    POLICY,
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


# -- H3 -----------------------------------------------------------------------------------------------


def strikes(
    *at_minutes: float,
    tasks: tuple[int, ...] = (1, 2, 3),
    node: str = "node-1",
    users: dict[int, str | None] | None = None,
) -> tuple[Strike, ...]:
    """Failures on the node that many minutes ago, of these tasks in turn; each task is another user's by default."""
    ids = [tasks[n % len(tasks)] for n in range(len(at_minutes))]
    whose = users or {number: f"user-{number}" for number in ids}
    return tuple(
        a_strike(node, task_id=TaskId(number), at=ago(minutes), user=whose[number])
        for number, minutes in zip(ids, at_minutes, strict=True)
    )


TEN = tuple(range(10))
#: sentence, failures, whether the node is put in quarantine
STRIKES = [
    ("three failures of three tasks", strikes(1, 2, 3), True),
    ("two failures", strikes(1, 2), False),
    ("three failures of two tasks", strikes(1, 2, 3, tasks=(1, 2)), True),
    ("three failures of one task may be the task's", strikes(1, 2, 3, tasks=(1,)), False),
    ("ten failures of one task", strikes(*range(10), tasks=(1,)), False),
    ("all of them within an hour", strikes(0, 30, 59.99), True),
    ("one of them just an hour ago", strikes(0, 30, 60), False),
    ("an old one more does not matter", strikes(0, 30, 59, 600), True),
    ("three tasks of one user may be the user's", strikes(1, 2, 3, users=dict.fromkeys((1, 2, 3), "mallory")), False),
    ("ten tasks of one user", strikes(*range(10), tasks=TEN, users=dict.fromkeys(TEN, "mallory")), False),
    ("tasks of two users", strikes(1, 2, 3, users={1: "mallory", 2: "mallory", 3: "bob"}), True),
    ("another user's before the hour", strikes(1, 2, 60, users={1: "mallory", 2: "mallory", 3: "bob"}), False),
    ("tasks that are deleted are no second user's", strikes(1, 2, 3, users={1: "mallory", 2: None, 3: None}), False),
    ("nor hide that there are two", strikes(1, 2, 3, users={1: "mallory", 2: None, 3: "bob"}), True),
    ("two of one task within the hour, another's before", strikes(1, 2, 3, 90, tasks=(1, 1, 1, 2)), False),
]


@pytest.mark.parametrize(("seen", "put"), [row[1:] for row in STRIKES], ids=[row[0] for row in STRIKES])
def test_h3_a_node_on_which_runs_keep_failing_is_put_in_quarantine(seen: tuple[Strike, ...], put: bool) -> None:
    made = decide(snapshot(nodes=10, strikes=seen))
    assert [d.node for d in made.decisions if isinstance(d, Quarantine)] == (["node-1"] if put else [])


def test_h3_the_same_plan_starts_nothing_there_and_names_the_tasks() -> None:
    made = decide(snapshot(waits(5, 10), waits(6, 9), nodes=10, strikes=strikes(1, 2, 3)))
    assert made.decisions[0] == Quarantine(node="node-1", tasks=(TaskId(1), TaskId(2), TaskId(3)))
    assert set(starts(made)) == {6}
    assert "node-1" not in starts(made)[6]


def test_h3_runs_that_are_there_stay() -> None:
    assert suspends(decide(snapshot(runs(5, "node-1"), nodes=10, strikes=strikes(1, 2, 3)))) == {}


@pytest.mark.parametrize(("nodes", "put"), [(9, 0), (10, 1), (19, 1), (20, 2)])
def test_h3_at_most_a_tenth_of_a_group(nodes: int, put: int) -> None:
    seen = (*strikes(1, 2, 3), *strikes(1, 2, 3, node="node-2"), *strikes(1, 2, 3, node="node-3"))
    assert len(quarantines(some_nodes(nodes), seen, POLICY, NOW)) == put


def test_h3_nodes_in_quarantine_already_count_against_the_tenth() -> None:
    there = (a_node("bad", mark=NodeMark.QUARANTINED), *some_nodes(10))
    assert quarantines(there, strikes(1, 2, 3), POLICY, NOW) == ()
    cordoned = (a_node("bad", mark=NodeMark.CORDONED), *some_nodes(10))
    assert len(quarantines(cordoned, strikes(1, 2, 3), POLICY, NOW)) == 1


def test_h3_the_worst_node_first_and_ties_by_name() -> None:
    seen = (*strikes(1, 2, 3), *strikes(1, 2, 3, 4, node="node-2"))
    assert [one.node for one in quarantines(some_nodes(10), seen, POLICY, NOW)] == ["node-2"]
    seen = (*strikes(1, 2, 3), *strikes(1, 2, 3, node="node-2"))
    assert [one.node for one in quarantines(some_nodes(10), seen, POLICY, NOW)] == ["node-1"]


@pytest.mark.parametrize("mark", [NodeMark.CORDONED, NodeMark.DRAINING, NodeMark.QUARANTINED])
def test_h3_a_node_that_is_marked_is_left_as_it_is(mark: NodeMark) -> None:
    nodes = (a_node("node-1", mark=mark), *some_nodes(40, prefix="n"))
    assert quarantines(nodes, strikes(1, 2, 3), POLICY, NOW) == ()


def test_h3_a_tenth_is_of_each_group() -> None:
    nodes = (*some_nodes(5), *some_nodes(20, prefix="j", group="jupyter"))
    assert decide(snapshot(nodes=nodes, strikes=strikes(1, 2, 3))).decisions == ()


def test_h3_the_numbers_are_the_policys() -> None:
    policy = Policy(strikes=2, strike_tasks=1, strike_users=1, strike_window=for_minutes(5), quarantine_share=1)
    assert len(quarantines(some_nodes(1), strikes(1, 2, tasks=(1,)), policy, NOW)) == 1
    assert quarantines(some_nodes(1), strikes(1, 5, tasks=(1,)), policy, NOW) == ()
    assert quarantines(some_nodes(1), strikes(1, 2), replace(policy, quarantine_share=0), NOW) == ()
    assert quarantines(some_nodes(1), strikes(1, 2, tasks=(1,)), replace(policy, strike_users=2), NOW) == ()
    assert quarantines(some_nodes(1), strikes(1, 2), replace(policy, strike_users=3), NOW) == ()


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
