"""Which tasks may pass the head of the queue, and for which tasks nodes are kept (rules B1 to B4)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from hai_scheduler.core.model.decisions import Keep
from hai_scheduler.core.model.node import Node, NodeMark
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.run import RankState
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.model.verdicts import VerdictKind
from kit.builders import a_node, a_quota
from kit.snapshots import carried_out
from unit.core.tables import (
    EVERYBODY,
    HIGH,
    LOW,
    NOW,
    ago,
    decide,
    for_minutes,
    kinds,
    leaving,
    runs,
    shares,
    snapshot,
    started_gpus,
    starts,
    suspends,
    waits,
)

KEPT = frozenset({"node-1", "node-2", "node-3"})
#: A task that has node-1 for ten minutes more: then its slice is over.
RUNNING = runs(1, "node-1", minutes=20)
#: The head of the queue: it needs all three nodes, and can have them in ten minutes.
HEAD = waits(2, 3)
WHEN = NOW + for_minutes(10)
#: The same task, which cannot use node-4.
NOT_NODE_4 = replace(HEAD, avoid=frozenset({"node-4"}))

# -- B1 -----------------------------------------------------------------------------------------------


def test_b1_nodes_are_kept_for_the_head_until_its_earliest_start() -> None:
    made = decide(snapshot(RUNNING, HEAD, waits(3), nodes=3))
    assert starts(made) == {}
    assert made.verdicts[2].earliest_start == WHEN
    verdict = made.verdicts[3]
    assert (verdict.kind, verdict.data["until"]) == (VerdictKind.RESERVED, WHEN)
    assert [holder.task_id for holder in verdict.holders] == [2]


def minutes_from_now(minutes: float) -> datetime:
    return NOW + for_minutes(minutes)


#: sentence, who runs on node-1, when the head can start
KNOWN: list[tuple[str, Task, datetime]] = [
    ("a turn that may end", runs(1, "node-1", minutes=20), WHEN),
    ("a turn at level 1 that may end for a new task", runs(1, "node-1", minutes=5, served=for_minutes(31)), WHEN),
    (
        "a turn that is worth more",
        runs(1, "node-1", minutes=20, starting_took=for_minutes(4)),
        minutes_from_now(20),
    ),
    ("a time limit", runs(1, "node-1", minutes=20, level=HIGH, time_limit=for_minutes(50)), minutes_from_now(30)),
    (
        "a time limit of which a part has been used in earlier turns",
        runs(1, "node-1", minutes=20, level=HIGH, time_limit=for_minutes(50), served=for_minutes(25)),
        minutes_from_now(5),
    ),
    (
        "a time limit that ends before the turn",
        runs(1, "node-1", minutes=20, time_limit=for_minutes(22)),
        minutes_from_now(2),
    ),
    (
        "the time limit of an own equal, whose turn does not end for it",
        runs(1, "node-1", minutes=20, user="user2", time_limit=for_minutes(50)),
        minutes_from_now(30),
    ),
]


@pytest.mark.parametrize(("running", "when"), [row[1:] for row in KNOWN], ids=[row[0] for row in KNOWN])
def test_b1_the_earliest_start_is_known_from(running: Task, when: datetime) -> None:
    made = decide(snapshot(running, HEAD, waits(3, user="user2"), nodes=3))
    assert made.verdicts[2].earliest_start == when
    assert made.verdicts[3].data["until"] == when


def test_b1_nodes_that_are_being_freed_count_from_their_deadline() -> None:
    """One leaves within two minutes, the other's turn ends in ten."""
    going = leaving(runs(4, "node-2"), None)
    made = decide(snapshot(RUNNING, going, HEAD, waits(3), nodes=3))
    assert made.verdicts[2].earliest_start == WHEN
    assert kinds(made)[3] is VerdictKind.RESERVED


@pytest.mark.parametrize(
    ("sentence", "running"),
    [
        ("a higher task without a limit", runs(1, "node-1", level=HIGH)),
        ("an own equal without a limit", runs(1, "node-1", user="user2")),
    ],
)
def test_b1_where_no_time_can_be_said_nothing_is_kept(sentence: str, running: Task) -> None:
    made = decide(snapshot(running, HEAD, waits(3), nodes=3))
    assert set(starts(made)) == {3}, sentence
    assert (made.verdicts[2].kind, made.verdicts[2].earliest_start) == (VerdictKind.CAPACITY, None)


def test_b1_nothing_is_kept_for_a_task_that_waits_for_quota_or_for_its_owner_or_can_never_start() -> None:
    quotas = (*EVERYBODY, a_quota("user:ann", limit=3))
    there = (RUNNING, runs(9, "node-4", user="ann", minutes=1))
    for head in (waits(2, 3, user="ann"), waits(2, 3, held=True), waits(2, 9), waits(2, 3, not_before=WHEN)):
        made = decide(snapshot(*there, head, waits(3), quotas=quotas))
        assert set(starts(made)) == {3}, head


def test_b1_nothing_is_kept_for_the_second_in_line() -> None:
    """Task 3 must wait as well, for nodes that are kept; what is free besides stays open to task 4 (EASY)."""
    made = decide(snapshot(RUNNING, NOT_NODE_4, waits(3, 2), waits(4, 1), nodes=4))
    assert starts(made) == {4: ("node-4",)}
    assert kinds(made)[3] is VerdictKind.RESERVED


def test_b1_it_is_kept_for_each_priority_apart() -> None:
    """The head of a lower priority has what the head of a higher one does not need, and its own reservation."""
    tasks = (runs(1, "node-1", level=HIGH, minutes=20), runs(5, "node-2", minutes=20))
    heads = (waits(2, 2, priority=HIGH, user="ann"), waits(3, 3, user="bob"), waits(4, user="cy"))
    made = decide(snapshot(*tasks, *heads, nodes=3))
    assert suspends(made) == {5: 2} or set(starts(made)) <= {4}, "the higher head takes what it may"


def test_b1_the_head_starts_when_the_time_has_come() -> None:
    shot = snapshot(RUNNING, HEAD, waits(3), nodes=3)
    assert suspends(decide(replace(shot, now=WHEN - timedelta(seconds=1)))) == {}
    assert suspends(decide(replace(shot, now=WHEN))) == {1: 2}


# -- B2 -----------------------------------------------------------------------------------------------

#: sentence, the later task, whether it may start on nodes that are kept for the head for ten minutes
PASSING: list[tuple[str, Task, bool]] = [
    ("an equal without a limit may not", waits(3), False),
    ("an equal that ends a moment before may", waits(3, time_limit=for_minutes(9.99)), True),
    ("an equal that ends just then may", waits(3, time_limit=for_minutes(10)), True),
    ("an equal that ends a moment after may not", waits(3, time_limit=for_minutes(10.01)), False),
    (
        "what it has used of its limit counts",
        waits(3, time_limit=for_minutes(40), served=for_minutes(31)),
        True,
    ),
    ("a lower one may: P1 gets the nodes back", waits(3, priority=LOW), True),
    ("a larger gang than what is free may not", waits(3, 3, priority=LOW), False),
]


@pytest.mark.parametrize(("later", "begins"), [row[1:] for row in PASSING], ids=[row[0] for row in PASSING])
def test_b2_who_cannot_delay_the_head_may_pass_it(later: Task, begins: bool) -> None:
    assert (3 in starts(decide(snapshot(RUNNING, HEAD, later, nodes=3)))) is begins


#: sentence, served before, what suspending costs, minutes until the head can start, whether it may pass
GIVING_BACK = [
    ("at a higher level it gives back after min_run", 31, 0, 15, True),
    ("... and that would be too late", 31, 0, 14, False),
    ("a new task gives back after its slice, as it is of level 1 then", 0, 0, 30, True),
    ("... and that would be too late", 0, 0, 29, False),
    ("a new task that rises to level 1 within min_run gives back then", 20, 0, 15, True),
    ("one that is worth more gives back later", 31, 2, 19, False),
    ("... but then it does", 31, 2, 20, True),
]


@pytest.mark.parametrize(
    ("served", "cost", "minutes", "begins"),
    [row[1:] for row in GIVING_BACK],
    ids=[f"{number}: {row[0]}" for number, row in enumerate(GIVING_BACK)],
)
def test_b2_an_equal_may_pass_if_its_own_turn_ends_in_time(
    served: float, cost: float, minutes: float, begins: bool
) -> None:
    running = runs(1, "node-1", minutes=0, level=HIGH, time_limit=for_minutes(minutes))
    later = waits(3, served=for_minutes(served), starting_took=for_minutes(cost) if cost else None)
    made = decide(snapshot(running, HEAD, later, nodes=3))
    assert (3 in starts(made)) is begins


def test_b2_an_equal_that_may_not_be_told_to_leave_for_now_does_not_give_back() -> None:
    """P7: it was told to leave four times within the last hour, so its turn does not end before the hour is over."""
    running = runs(1, "node-1", minutes=0, level=HIGH, time_limit=for_minutes(45))
    often = waits(3, served=for_minutes(31), rotations=(ago(40), ago(30), ago(20), ago(10)))
    assert starts(decide(snapshot(running, HEAD, often, nodes=3))) == {}
    longer = runs(1, "node-1", minutes=0, level=HIGH, time_limit=for_minutes(51))
    assert set(starts(decide(snapshot(longer, HEAD, often, nodes=3)))) == {3}


def test_b2_an_own_equal_does_not_give_back() -> None:
    """P3: its turn never ends for a task of the same user."""
    running = runs(1, "node-1", minutes=0, level=HIGH, time_limit=for_minutes(60))
    assert set(starts(decide(snapshot(running, HEAD, waits(3), nodes=3)))) == {3}
    assert starts(decide(snapshot(running, HEAD, waits(3, user="user2"), nodes=3))) == {}


def test_b2_nodes_outside_the_reservation_are_open() -> None:
    made = decide(snapshot(RUNNING, NOT_NODE_4, waits(3), waits(4), nodes=4))
    assert starts(made) == {3: ("node-4",)}
    assert kinds(made)[4] is VerdictKind.RESERVED


def test_b2_what_lower_tasks_take_of_the_reservation_they_give_back() -> None:
    """The head's time has come, and a lower task sits on nodes that were kept for it."""
    low = runs(3, "node-2", level=LOW, minutes=5)
    made = decide(snapshot(runs(1, "node-1", minutes=30), low, HEAD, nodes=3))
    assert suspends(made) == {1: 2, 3: 2}


def test_b2_parts_of_nodes_are_kept_as_well() -> None:
    running = shares(1, {"node-1": (0, 1, 2, 3)}, minutes=20)
    there = (running, waits(2, gpus=6), waits(3, gpus=4))
    made = decide(snapshot(*there, nodes=1))
    assert (starts(made), kinds(made)[3]) == ({}, VerdictKind.RESERVED)
    assert set(starts(decide(snapshot(*there, waits(4, gpus=4, time_limit=for_minutes(5)), nodes=1)))) == {4}


def test_b2_without_a_head_nothing_is_kept() -> None:
    assert set(starts(decide(snapshot(RUNNING, waits(3), nodes=3)))) == {3}


# -- B3 -----------------------------------------------------------------------------------------------


def test_b3_nodes_being_freed_are_promised() -> None:
    victim = leaving(runs(1, "node-1", "node-2"), beneficiary=3)
    made = decide(snapshot(victim, waits(2, 1), waits(3, 3, priority=HIGH, promise=KEPT), nodes=3))
    assert made.decisions == (), "the free node is kept for task 3 as well"
    assert made.verdicts[3].kind is VerdictKind.DRAINING
    assert made.verdicts[3].earliest_start == NOW + timedelta(seconds=120)
    assert made.verdicts[2].kind in (VerdictKind.CAPACITY, VerdictKind.TURN)


def test_b3_the_promise_is_a_decision_made_with_the_suspension() -> None:
    made = decide(snapshot(runs(1, "node-1", level=LOW), waits(2, 2, priority=HIGH), nodes=2))
    assert [d for d in made.decisions if isinstance(d, Keep)] == [
        Keep(task_id=2, nodes=frozenset({"node-1", "node-2"}))
    ]


@pytest.mark.parametrize(
    ("sentence", "fields"),
    [
        ("an equal", {}),
        ("an equal that ends soon", {"time_limit": for_minutes(1)}),
        ("an equal with a share", {"gpus": 1}),
        ("a lower one", {"priority": LOW}),
        ("one that goes first in the queue", {"submitted_at": NOW - timedelta(days=9)}),
    ],
)
def test_b3_nobody_else_gets_promised_nodes(sentence: str, fields: dict[str, object]) -> None:
    victim = leaving(runs(1, "node-1"), beneficiary=3)
    made = decide(snapshot(victim, waits(2, **fields), waits(3, 3, promise=KEPT), nodes=3))
    assert starts(made) == {}, sentence


def test_b3_a_promise_ends_with_its_task() -> None:
    victim = leaving(runs(1, "node-1", "node-2"), beneficiary=3)
    made = decide(snapshot(victim, waits(2, 1), waits(3, 3, held=True, promise=KEPT), nodes=3))
    assert starts(made) == {2: ("node-3",)}
    assert set(starts(decide(snapshot(victim, waits(2, 1), nodes=3)))) == {2}


def test_b3_a_higher_task_may_take_promised_nodes_over() -> None:
    victim = leaving(runs(1, "node-1"), beneficiary=2)
    urgent = waits(3, 1, priority=Priority.EXTREME_HIGH)
    made = decide(snapshot(victim, waits(2, 1, priority=HIGH, promise=KEPT), urgent, nodes=1))
    assert made.verdicts[3].kind is VerdictKind.DRAINING
    assert made.verdicts[2].kind is VerdictKind.CAPACITY


@pytest.mark.parametrize(
    ("sentence", "nodes"),
    [
        ("a tie", (a_node("node-1"), a_node("node-2"))),
        ("a better fit", (a_node("node-1", leaf="a"), a_node("node-2", leaf="b"), a_node("node-3", leaf="b"))),
    ],
)
def test_b3_a_higher_task_leaves_promised_nodes_alone_if_others_will_do(sentence: str, nodes: tuple[Node, ...]) -> None:
    """No task has left for nothing (P4)."""
    promised = waits(2, promise=frozenset({"node-1"}))
    made = decide(snapshot(promised, waits(3, priority=HIGH), nodes=nodes))
    assert starts(made) == {3: ("node-2",), 2: ("node-1",)}, sentence
    going = leaving(runs(1, "node-1"), beneficiary=2)
    assert starts(decide(snapshot(going, promised, waits(3, priority=HIGH), nodes=nodes)))[3] == ("node-2",)


def test_b3_a_task_whose_nodes_are_on_their_way_does_not_take_those_of_another() -> None:
    """The task would start a little sooner, and another task would have left for nothing."""
    there = (leaving(runs(1, "node-1"), beneficiary=3),)
    tasks = (
        waits(3, priority=HIGH, promise=frozenset({"node-1"})),
        waits(4, promise=frozenset({"node-2"}), avoid=frozenset({"node-1"})),
    )
    assert starts(decide(snapshot(*there, *tasks, nodes=2))) == {4: ("node-2",)}


def test_b3_a_higher_task_waits_for_nodes_that_are_not_promised_if_others_are_being_freed() -> None:
    there = (leaving(runs(1, "node-1"), beneficiary=2), leaving(runs(4, "node-2"), None))
    promised = waits(2, promise=frozenset({"node-1"}))
    made = decide(snapshot(*there, promised, waits(3, priority=HIGH), nodes=2))
    assert kinds(made) == {2: VerdictKind.DRAINING, 3: VerdictKind.DRAINING}
    assert [d for d in made.decisions if isinstance(d, Keep)] == [Keep(task_id=3, nodes=frozenset({"node-2"}))]


def test_b3_quota_is_set_aside_with_the_nodes() -> None:
    victim = leaving(runs(1, "node-1", "node-2"), beneficiary=3)
    ann = {"user": "ann", "priority": HIGH}
    tasks = (victim, waits(2, 1, **ann, custom_rank=0.0), waits(3, 2, **ann, custom_rank=1.0, promise=KEPT))
    quotas = (a_quota("public", priority=HIGH, limit=2), a_quota("public"))
    made = decide(snapshot(*tasks, nodes=3, quotas=quotas))
    assert starts(made) == {}, "else task 1 would have been suspended for nothing"
    assert made.verdicts[2].kind is VerdictKind.QUOTA


def test_b3_a_promise_lapses_when_there_is_no_quota_for_it_any_more() -> None:
    quotas = (*EVERYBODY, a_quota("user:ann", limit=1))
    tasks = (waits(1, 2, user="ann", promise=frozenset({"node-1", "node-2"})), waits(2, 2))
    assert starts(decide(snapshot(*tasks, nodes=2, quotas=quotas))) == {2: ("node-1", "node-2")}


def test_b3_a_promise_outlives_the_victim_until_its_task_starts() -> None:
    """An earlier equal that now would fit does not get the nodes: the victim left for task 3."""
    tasks = (waits(1, 2, user="ann"), waits(3, 2, promise=frozenset({"node-1", "node-2"})))
    assert starts(decide(snapshot(*tasks, nodes=2))) == {3: ("node-1", "node-2")}


def test_b3_a_promise_that_cannot_be_kept_whole_lapses() -> None:
    cordoned = a_node("node-2", mark=NodeMark.CORDONED)
    tasks = (waits(1, 2, promise=frozenset({"node-1", "node-2"})), waits(3, 1))
    assert starts(decide(snapshot(*tasks, nodes=(a_node("node-1"), cordoned)))) == {3: ("node-1",)}


def test_b3_a_promise_that_has_lapsed_does_not_come_back_later() -> None:
    """Otherwise the task would pass, at any later time, all tasks before it in the queue."""
    nodes = (a_node("node-1"), a_node("node-2", mark=NodeMark.CORDONED))
    shot = snapshot(waits(1, 1), waits(3, 2, promise=frozenset({"node-1", "node-2"})), nodes=nodes)
    shot = carried_out(shot, decide(shot))
    assert [task.promise for task in shot.tasks if task.id == 3] == [frozenset()]
    assert decide(shot).decisions == ()


def test_b3_a_task_starts_on_its_promised_node_though_another_leaf_would_fit_better() -> None:
    nodes = tuple(a_node(f"node-{number}", leaf=leaf) for number, leaf in ((1, "small"), (2, "large"), (3, "large")))
    assert starts(decide(snapshot(waits(9), nodes=nodes))) == {9: ("node-1",)}
    assert starts(decide(snapshot(waits(9, promise=frozenset({"node-2"})), nodes=nodes))) == {9: ("node-2",)}


def test_b3_a_promised_node_that_is_lost_is_made_up_for_by_a_free_one() -> None:
    nodes = (a_node("node-1"), a_node("node-2", ready=False), a_node("node-3"))
    tasks = (waits(1, 2, promise=frozenset({"node-1", "node-2"})), waits(3, 1, user="ann", submitted_at=NOW))
    assert starts(decide(snapshot(*tasks, nodes=nodes))) == {1: ("node-1", "node-3")}


# -- B4 -----------------------------------------------------------------------------------------------


def test_b4_a_node_belongs_to_its_run_until_it_is_gone() -> None:
    made = decide(snapshot(leaving(runs(1, "node-1"), beneficiary=2), waits(2, priority=HIGH), nodes=1))
    assert starts(made) == {}


@pytest.mark.parametrize("state", [RankState.PENDING, RankState.EXITED, RankState.LOST])
def test_b4_a_rank_that_has_gone_frees_nothing_while_another_may_be_left(state: RankState) -> None:
    going = leaving(runs(1, "node-1", "node-2"), beneficiary=2)
    assert going.run is not None
    ranks = (replace(going.run.ranks[0], state=state), going.run.ranks[1])
    going = replace(going, run=replace(going.run, ranks=ranks))
    assert starts(decide(snapshot(going, waits(2, priority=HIGH), nodes=2))) == {}


def test_b4_shares_of_a_node_belong_to_their_runs_as_well() -> None:
    going = leaving(shares(1, {"node-1": (0, 1, 2, 3, 4)}), beneficiary=2)
    promised = waits(2, gpus=4, promise=frozenset({"node-1"}))
    made = decide(snapshot(going, promised, nodes=1))
    assert starts(made) == {}, "three GPUs are free"
    assert started_gpus(decide(snapshot(going, waits(3, gpus=3), nodes=1))) == {3: ((5, 6, 7),)}


def test_b4_no_number_gets_a_node_twice() -> None:
    policy = Policy(min_run=timedelta(0), min_run_per_switch=0)
    made = decide(snapshot(runs(1, "node-1", minutes=0, level=LOW), waits(2, priority=HIGH), nodes=1), policy)
    assert starts(made) == {}
    assert suspends(made) == {1: 2}
