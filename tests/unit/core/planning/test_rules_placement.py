"""Where a gang goes (rules F1 to F5)."""

from __future__ import annotations

from random import Random

import pytest

from hai_scheduler.core.model.node import Node, NodeMark
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.model.verdicts import VerdictKind
from kit.builders import a_node
from kit.snapshots import carried_out, emptied
from unit.core.tables import (
    HIGH,
    LOW,
    NOW,
    decide,
    for_minutes,
    kinds,
    leaving,
    runs,
    shares,
    snapshot,
    starts,
    suspends,
    waits,
)


def laid_out(**leaves: int) -> tuple[Node, ...]:
    """Nodes by leaf: `a1=3` gives three nodes of leaf a1 in zone a, called a1-1, a1-2 and a1-3."""
    return tuple(
        a_node(f"{leaf}-{number}", zone=leaf[0], leaf=leaf)
        for leaf, count in leaves.items()
        for number in range(1, count + 1)
    )


def leaves_of(names: tuple[str, ...]) -> list[str]:
    return [name.split("-")[0] for name in names]


# -- F1 -----------------------------------------------------------------------------------------------

#: sentence, the cluster, how many nodes, the leaves of those that are taken
FITS = [
    ("the smallest leaf that is large enough", {"a1": 4, "a2": 2, "b1": 3}, 2, ["a2", "a2"]),
    ("a leaf that it fits exactly", {"a1": 4, "a2": 3, "b1": 2}, 3, ["a2", "a2", "a2"]),
    ("a leaf before a zone", {"a1": 1, "a2": 1, "b1": 5}, 2, ["b1", "b1"]),
    ("one zone if no leaf will do", {"a1": 2, "a2": 2, "b1": 3}, 4, ["a1", "a1", "a2", "a2"]),
    (
        "the smallest zone that is large enough",
        {"a1": 2, "a2": 2, "a3": 2, "b1": 2, "b2": 2},
        4,
        ["b1", "b1", "b2", "b2"],
    ),
    (
        "few leaves: the largest whole, the rest where it fits best",
        {"a1": 3, "a2": 1, "a3": 2},
        4,
        ["a1", "a1", "a1", "a2"],
    ),
    ("several zones at last", {"a1": 2, "b1": 2, "c1": 1}, 3, ["a1", "a1", "c1"]),
    ("a tie by name", {"b1": 2, "a1": 2}, 2, ["a1", "a1"]),
    ("one node goes to the smallest leaf", {"a1": 3, "b1": 1}, 1, ["b1"]),
]


@pytest.mark.parametrize(("leaves", "needs", "taken"), [row[1:] for row in FITS], ids=[row[0] for row in FITS])
def test_f1_within_one_leaf_else_one_zone_best_fit_first(leaves: dict[str, int], needs: int, taken: list[str]) -> None:
    made = decide(snapshot(waits(1, needs), nodes=laid_out(**leaves)))
    assert leaves_of(starts(made)[1]) == taken


def test_f1_large_leaves_stay_whole() -> None:
    made = decide(snapshot(*(waits(n) for n in (1, 2, 3)), waits(4, 4), nodes=laid_out(a1=4, a2=2, b1=1)))
    assert len(starts(made)) == 4


def test_f1_leaves_of_one_name_in_two_zones_are_two() -> None:
    nodes = (a_node("n1", zone="a", leaf="x"), a_node("n2", zone="b", leaf="x"), a_node("n3", zone="b", leaf="y"))
    assert starts(decide(snapshot(waits(1, 2), nodes=nodes))) == {1: ("n2", "n3")}


def test_f1_only_what_is_free_counts_as_the_size_of_a_leaf() -> None:
    there = (runs(1, "a1-1", minutes=1), runs(2, "a1-2", minutes=1))
    made = decide(snapshot(*there, waits(3, 2), nodes=laid_out(a1=4, b1=3)))
    assert leaves_of(starts(made)[3]) == ["a1", "a1"]


def test_f1_nodes_are_freed_within_one_zone_if_that_can_be() -> None:
    """A gang over two zones would do less harm to others, but F1 keeps it in one zone."""
    nodes = laid_out(a1=2, b1=2)
    there = [
        runs(n, name, minutes=m, level=LOW)
        for n, name, m in [(1, "a1-1", 1), (2, "a1-2", 9), (3, "b1-1", 2), (4, "b1-2", 3)]
    ]
    assert suspends(decide(snapshot(*there, waits(9, 2, priority=HIGH), nodes=nodes))) == {3: 9, 4: 9}


def test_f1_of_two_zones_the_one_where_fewer_must_leave() -> None:
    """Task 8 leaves either way; in zone b no other task has to."""
    nodes = laid_out(a1=2, b1=2)
    there = (
        runs(3, "a1-2", minutes=45, level=LOW),
        shares(8, {"a1-1": (0, 1, 2), "b1-1": (0, 1, 2)}, level=LOW, minutes=5),
    )
    assert suspends(decide(snapshot(*there, waits(9, 2, gpus=6, priority=HIGH), nodes=nodes))) == {8: 9}


# -- F2 -----------------------------------------------------------------------------------------------

TWO = laid_out(a1=2, b1=2)
FOUR = laid_out(a1=1, b1=1, c1=1, d1=1)


def test_f2_one_task_may_span_zones() -> None:
    assert len(starts(decide(snapshot(waits(1, 3), nodes=TWO)))[1]) == 3


def test_f2_a_second_one_may_not() -> None:
    made = decide(snapshot(runs(1, "a1-1", "b1-1", minutes=1), waits(2, 2), nodes=FOUR))
    assert starts(made) == {}
    verdict = made.verdicts[2]
    assert (verdict.kind, verdict.data["free"], verdict.data["together"]) == (VerdictKind.TOPOLOGY, 2, 1)


def test_f2_of_two_that_start_together_one_spans_zones() -> None:
    made = decide(snapshot(waits(1, 2), waits(2, 2), nodes=FOUR))
    assert set(starts(made)) == {1}
    assert kinds(made) == {2: VerdictKind.TOPOLOGY}


@pytest.mark.parametrize(("most", "begin"), [(0, 0), (1, 1), (2, 2)])
def test_f2_how_many_is_the_policys(most: int, begin: int) -> None:
    made = decide(snapshot(waits(1, 2), waits(2, 2), nodes=FOUR), Policy(max_cross_zone=most))
    assert len(starts(made)) == begin


def test_f2_is_counted_for_each_group() -> None:
    others = tuple(a_node(f"j{n}", group="jupyter", zone=f"{n}") for n in (1, 2))
    there = runs(1, "j1", "j2", group="jupyter")
    assert len(starts(decide(snapshot(there, waits(2, 2), nodes=(*FOUR, *others))))) == 1


def test_f2_a_gang_within_a_zone_is_not_counted() -> None:
    made = decide(snapshot(runs(1, "a1-1", "a1-2", minutes=1), waits(2, 2), nodes=laid_out(a1=2, b1=1, c1=1)))
    assert len(starts(made)) == 1


def crossing(id: int, *names: str, level: Priority = LOW, minutes: float = 60) -> Task:  # noqa: A002
    return runs(id, *names, level=level, minutes=minutes)


def test_f2_a_higher_task_may_have_the_nodes_of_the_one_that_spans_zones() -> None:
    """P1: a lower task does not keep a higher one waiting, whatever it spans."""
    shot = snapshot(crossing(1, "a1-1", "a1-2", "b1-1"), waits(2, 3, priority=HIGH), nodes=TWO)
    made = decide(shot)
    assert suspends(made) == {1: 2}
    assert len(starts(decide(emptied(carried_out(shot, made))))[2]) == 3


def test_f2_a_higher_task_may_have_the_place_of_the_one_that_spans_zones_though_it_needs_other_nodes() -> None:
    shot = snapshot(crossing(1, "a1-1", "b1-1"), waits(2, 2, priority=HIGH), nodes=FOUR)
    made = decide(shot)
    assert suspends(made) == {1: 2}
    assert len(starts(decide(emptied(carried_out(shot, made))))[2]) == 2


def test_f2_it_does_not_start_before_the_one_that_spans_zones_has_left() -> None:
    going = leaving(crossing(1, "a1-1", "b1-1"), beneficiary=2)
    promised = waits(2, 2, priority=HIGH, promise=frozenset({"c1-1", "d1-1"}))
    made = decide(snapshot(going, promised, nodes=FOUR))
    assert made.decisions == ()
    assert kinds(made) == {2: VerdictKind.DRAINING}


@pytest.mark.parametrize(("minutes", "told"), [(29, False), (30, True)])
def test_f2_turns_among_equals_go_round_for_those_that_span_zones(minutes: float, told: bool) -> None:
    running = crossing(1, "a1-1", "a1-2", "b1-1", level=Priority.NORMAL, minutes=minutes)
    made = decide(snapshot(running, waits(2, 3), nodes=TWO))
    assert bool(suspends(made)) is told
    if not told:
        assert made.verdicts[2].earliest_start == NOW + for_minutes(1)


def test_f2_a_task_that_may_not_leave_for_it_keeps_its_place() -> None:
    higher = crossing(1, "a1-1", "b1-1", level=Priority.VERY_HIGH)
    assert suspends(decide(snapshot(higher, waits(2, 2, priority=HIGH), nodes=FOUR))) == {}
    own = runs(1, "a1-1", "b1-1", minutes=600, user="user2")
    assert suspends(decide(snapshot(own, waits(2, 2), nodes=FOUR))) == {}, "P3"


def test_f2_the_earliest_start_waits_for_the_place_though_nodes_are_free() -> None:
    running = crossing(1, "a1-1", "b1-1", level=Priority.NORMAL, minutes=29)
    made = decide(snapshot(running, waits(2, 2), waits(3), nodes=FOUR))
    assert kinds(made)[2] is VerdictKind.TOPOLOGY
    assert made.verdicts[3].data["until"] == NOW + for_minutes(1)


def test_f2_nodes_are_not_freed_for_two_tasks_of_which_one_may_span_zones() -> None:
    """No task leaves for nothing (P4), and no node is kept for a task that may not have it."""
    there = [runs(n, node.name, level=LOW) for n, node in enumerate(FOUR, start=1)]
    shot = snapshot(*there, waits(8, 2, priority=HIGH), waits(9, 2, priority=HIGH), nodes=FOUR)
    made = decide(shot)
    assert set(suspends(made).values()) == {8}
    assert kinds(made)[9] is not VerdictKind.DRAINING


def test_f2_a_promise_that_spans_zones_gives_way_to_a_higher_task() -> None:
    there = [runs(n, node.name, level=LOW) for n, node in enumerate(FOUR, start=1)]
    shot = snapshot(*there, waits(8, 2, priority=HIGH), nodes=FOUR)
    shot = carried_out(shot, decide(shot))
    later = snapshot(*shot.tasks, waits(9, 2, priority=Priority.VERY_HIGH), nodes=FOUR)
    made = decide(later)
    assert kinds(made)[9] is VerdictKind.DRAINING
    assert starts(decide(emptied(carried_out(later, made)))).keys() == {9}


#: It shares a node in each of two zones, or two nodes of one.
IN_TWO = shares(1, {"a1-1": (0, 1), "b1-1": (0, 1)}, level=LOW, minutes=20)
IN_ONE = shares(1, {"d1-1": (0, 1), "d1-2": (0, 1)}, level=LOW, minutes=20)


def test_f2_who_keeps_the_gang_in_one_zone_is_not_let_off() -> None:
    """Across zones task 1 alone would do; within zone a task 3 must leave as well (F1)."""
    there = (IN_TWO, runs(3, "a1-2", level=LOW, minutes=1))
    made = decide(snapshot(*there, waits(9, 2, gpus=7, priority=HIGH), nodes=laid_out(a1=2, b1=1)))
    assert suspends(made) == {1: 9, 3: 9}


def test_f2_who_leaves_for_its_place_alone_is_not_let_off() -> None:
    there = (IN_ONE, crossing(5, "a1-1", "b1-1"))
    gang = waits(9, 3, gpus=7, priority=HIGH, avoid=frozenset({"a1-1", "b1-1"}))
    shot = snapshot(*there, gang, nodes=laid_out(a1=1, b1=1, c1=1, d1=2))
    made = decide(shot)
    assert suspends(made) == {1: 9, 5: 9}
    assert starts(decide(emptied(carried_out(shot, made))))[9] == ("c1-1", "d1-1", "d1-2")


# -- F3 -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "node"),
    [
        ("cordoned", a_node("node-1", mark=NodeMark.CORDONED)),
        ("draining", a_node("node-1", mark=NodeMark.DRAINING)),
        ("quarantined", a_node("node-1", mark=NodeMark.QUARANTINED)),
        ("not ready", a_node("node-1", ready=False)),
    ],
)
def test_f3_never_on_unfit_nodes(sentence: str, node: Node) -> None:
    for task in (waits(1), waits(1, gpus=1), waits(1, promise=frozenset({"node-1"}))):
        made = decide(snapshot(task, nodes=(node,)))
        assert starts(made) == {}, sentence
        assert made.verdicts[1].kind is VerdictKind.CAPACITY


def test_f3_never_on_nodes_the_task_was_unlucky_on() -> None:
    unlucky = frozenset({"node-1"})
    assert starts(decide(snapshot(waits(1, avoid=unlucky), nodes=2))) == {1: ("node-2",)}
    assert starts(decide(snapshot(waits(1, avoid=unlucky, gpus=2), nodes=2))) == {1: ("node-2",)}
    taken = runs(2, "node-2")
    assert starts(decide(snapshot(taken, waits(1, avoid=unlucky), nodes=2))) == {}


@pytest.mark.parametrize("gpus", [None, 8])
def test_f3_a_node_that_the_task_was_unlucky_on_is_better_than_none(gpus: int | None) -> None:
    unlucky = frozenset({"node-1"})
    alone = waits(1, avoid=unlucky, gpus=gpus)
    assert starts(decide(snapshot(alone, nodes=1))) == {1: ("node-1",)}
    small, cordoned = a_node("node-2", gpus=4), a_node("node-3", mark=NodeMark.CORDONED)
    there = (a_node("node-1"), cordoned) if gpus is None else (a_node("node-1"), small, cordoned)
    assert starts(decide(snapshot(alone, nodes=there))) == {1: ("node-1",)}
    pair = waits(1, 2, avoid=unlucky)
    assert starts(decide(snapshot(pair, nodes=2))) == {1: ("node-1", "node-2")}
    assert starts(decide(snapshot(pair, nodes=3))) == {1: ("node-2", "node-3")}


def test_f3_another_task_may_have_the_node_that_one_was_unlucky_on() -> None:
    unlucky = waits(1, avoid=frozenset({"node-1"}))
    made = decide(snapshot(runs(3, "node-2"), unlucky, waits(2), nodes=2))
    assert starts(made) == {2: ("node-1",)}


def test_f3_nobody_is_suspended_on_nodes_that_do_not_help() -> None:
    unlucky = waits(2, priority=HIGH, avoid=frozenset({"node-1"}))
    there = (runs(1, "node-1"), runs(3, "node-2", level=HIGH, minutes=1))
    assert suspends(decide(snapshot(*there, unlucky, nodes=2))) == {}
    cordoned = (a_node("node-1", mark=NodeMark.CORDONED),)
    assert suspends(decide(snapshot(runs(1, "node-1"), waits(2, priority=HIGH), nodes=cordoned))) == {}


def test_f3_a_run_that_is_there_stays_on_a_cordoned_node() -> None:
    nodes = (a_node("node-1", mark=NodeMark.CORDONED), a_node("node-2", mark=NodeMark.QUARANTINED))
    assert decide(snapshot(runs(1, "node-1"), runs(2, "node-2"), nodes=nodes)).decisions == ()


# -- F4 -----------------------------------------------------------------------------------------------


def test_f4_ties_go_by_name_and_ranks_stand_in_that_order() -> None:
    nodes = tuple(a_node(name) for name in ("c", "a", "d", "b"))
    assert starts(decide(snapshot(waits(1, 3), nodes=nodes))) == {1: ("a", "b", "c")}


def test_f4_the_order_in_which_things_are_told_makes_no_difference() -> None:
    nodes, tasks = list(laid_out(a1=3, a2=3, b1=2)), [waits(n, n % 3 + 1) for n in range(1, 7)]
    first = decide(snapshot(*tasks, nodes=tuple(nodes)))
    for seed in range(5):
        Random(seed).shuffle(nodes)
        Random(seed).shuffle(tasks)
        assert decide(snapshot(*tasks, nodes=tuple(nodes))) == first


# -- F5 -----------------------------------------------------------------------------------------------


def crowded(*rooms: int | None, gpus: int = 8) -> tuple[Node, ...]:
    """`node-1` and so on, with so much room beside pods from outside of HAI."""
    whose = "gpu-monitoring, ns ops"
    return tuple(
        a_node(f"node-{number}", gpus=gpus, room=room, crowd="" if room is None else whose)
        for number, room in enumerate(rooms, 1)
    )


#: sentence, room on each node, GPUs of each node of the task (None: whole nodes), nodes of the task, where it starts
ROOMS = [
    ("a whole node beside none", (None, None), None, 2, ("node-1", "node-2")),
    ("room for all is as good as none there", (8, None), None, 2, ("node-1", "node-2")),
    ("a whole node not beside others", (7, None), None, 1, ("node-2",)),
    ("nowhere", (7, 0), None, 1, None),
    ("a gang waits for all", (7, None), None, 2, None),
    ("a part where it fits", (3, None), 3, 1, ("node-1",)),
    ("a part elsewhere", (3, None), 4, 1, ("node-2",)),
    ("parts on both", (3, 2), 2, 2, ("node-1", "node-2")),
    ("a part on a full node", (0,), 1, 1, None),
]


@pytest.mark.parametrize(("rooms", "gpus", "needs", "where"), [row[1:] for row in ROOMS], ids=[row[0] for row in ROOMS])
def test_f5_gpus_that_pods_of_others_have_are_not_given_away(
    rooms: tuple[int | None, ...], gpus: int | None, needs: int, where: tuple[str, ...] | None
) -> None:
    made = decide(snapshot(waits(1, needs, gpus=gpus), nodes=crowded(*rooms)))
    assert starts(made).get(1) == where


def test_f5_a_node_without_gpus_is_full_or_not() -> None:
    made = decide(snapshot(waits(1), waits(2), nodes=crowded(0, None, gpus=0)))
    assert starts(made) == {1: ("node-2",)}


def test_f5_what_runs_beside_others_counts_in_their_room() -> None:
    """Four of the eight GPUs can be had at once: a run has three of them."""
    there = shares(1, {"node-1": (0, 1, 2)}, minutes=1)
    begun = {gpus: starts(decide(snapshot(there, waits(2, gpus=gpus), nodes=crowded(4)))) for gpus in (1, 2)}
    assert begun == {1: {2: ("node-1",)}, 2: {}}


@pytest.mark.parametrize("gpus", [None, 8, 5])
def test_f5_nobody_leaves_for_a_task_that_does_not_fit_beside_others_even_then(gpus: int | None) -> None:
    there = (runs(1, "node-1", level=LOW), runs(2, "node-2", level=LOW))
    made = decide(snapshot(*there, waits(3, gpus=gpus, priority=HIGH), nodes=crowded(4, None)))
    assert set(suspends(made)) == {2}, "the run on the other node leaves"
    made = decide(snapshot(there[0], waits(3, gpus=gpus, priority=HIGH), nodes=crowded(4)))
    assert (suspends(made), kinds(made)) == ({}, {3: VerdictKind.CAPACITY})


def test_f5_pods_that_come_later_change_nothing_for_who_runs() -> None:
    there = (runs(1, "node-1", minutes=5), shares(2, {"node-2": (0, 1, 2, 3)}, minutes=5))
    made = decide(snapshot(*there, nodes=crowded(0, 2)))
    assert not made.decisions


def test_f5_a_promise_ends_where_pods_of_others_have_come() -> None:
    going, promised = leaving(runs(1, "node-1"), 2), waits(2, promise=frozenset({"node-1"}))
    assert decide(snapshot(going, promised, nodes=crowded(None))).decisions == ()
    made = decide(snapshot(going, promised, nodes=crowded(6)))
    assert [decision.nodes for decision in made.decisions] == [frozenset()]


def test_f5_a_gang_that_leaves_frees_only_the_nodes_that_are_all_free_then() -> None:
    """The reservation counts the node without others alone (B1): the second comes free when nobody knows."""
    gang = runs(1, "node-1", "node-2", minutes=20)
    made = decide(snapshot(gang, waits(2, 2), nodes=crowded(None, 5)))
    assert made.verdicts[2].earliest_start is None
    made = decide(snapshot(gang, waits(2, 2), nodes=crowded(None, None)))
    assert made.verdicts[2].earliest_start == NOW + for_minutes(10)


def test_f5_the_verdict_counts_the_nodes_and_says_whose_pods_they_carry() -> None:
    made = decide(snapshot(waits(1, 3), waits(2, gpus=9), nodes=crowded(5, None, 0)))
    said = {"crowded": 2, "crowd": "gpu-monitoring, ns ops"}
    assert made.verdicts[1].kind is VerdictKind.CAPACITY
    assert made.verdicts[1].data == {"needs": 3, "gpus": None, "free": 1, **said}
    assert "crowded" not in made.verdicts[2].data, "more GPUs than any node has: others are not the reason"


def test_f5_it_could_ever_run_on_nodes_that_are_crowded_now() -> None:
    """Q5: pods of others come and go."""
    made = decide(snapshot(waits(1, 2), nodes=crowded(0, 0)))
    assert kinds(made) == {1: VerdictKind.CAPACITY}


def test_f5_a_task_uses_the_nodes_that_it_avoids_where_the_others_are_crowded() -> None:
    made = decide(snapshot(waits(1, avoid=frozenset({"node-2"})), nodes=crowded(0, None)))
    assert starts(made) == {1: ("node-2",)}


def test_f3_a_node_that_the_cluster_takes_away_is_drained() -> None:
    made = decide(snapshot(runs(1, "node-1", minutes=1), nodes=(a_node("node-1", closed=True, leaving=True),)))
    assert [(decision.task_id, decision.reason) for decision in made.decisions] == [(1, Reason.DRAINED)]
