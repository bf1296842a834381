"""Candidates: which turns may end for a task, and which nodes this frees (P1 to P5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from hai_scheduler.core.capacity.group_capacity import GroupCapacity
from hai_scheduler.core.capacity.preemption import (
    Candidate,
    CandidateIndex,
    Candidates,
    Demand,
    RequestClass,
    VictimSelector,
    reason_for,
)
from hai_scheduler.core.model.node import Node, NodeMark
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.nodes.node_group import NodeGroup
from hai_scheduler.core.ordering.fair_share import FairShare
from hai_scheduler.core.ordering.rules import HaiRules, Rules
from hai_scheduler.core.ordering.turns import Turn
from kit.builders import a_node, some_nodes
from unit.core.tables import HIGH, LOW, NORMAL, NOW, leaving, runs, shares, turn_of, waits

WHOLE = RequestClass(HIGH, 0, None)
EQUAL = RequestClass(NORMAL, 0, None)
#: The tasks whose turns may end together, and the nodes that this frees.
Found = tuple[tuple[int, ...], tuple[str, ...]]


def part(gpus: int) -> RequestClass:
    """A request for parts of nodes."""
    return replace(WHOLE, gpus=gpus)


def rules() -> Rules:
    return HaiRules(Policy(), NOW, FairShare((), (), Policy(), NOW), {})


class Cluster:
    """A capacity, and an index of candidates over it."""

    def __init__(self, *tasks: Task, nodes: int | tuple[Node, ...] = 3) -> None:
        node_group = NodeGroup(some_nodes(nodes) if isinstance(nodes, int) else nodes)
        self.turns = [turn_of(task, node_group=node_group) for task in tasks]
        self.capacity = GroupCapacity(node_group, self.turns)
        self.index = CandidateIndex(self.capacity, self.turns, rules())

    def turn(self, task_id: int) -> Turn:
        return next(turn for turn in self.turns if turn.task.id == task_id)


def told(found: Candidates) -> list[Found]:
    return [(tuple(turn.task.id for turn in candidate.turns), candidate.nodes) for candidate in found.sorted]


def candidates(
    *tasks: Task, kind: RequestClass = WHOLE, nodes: int | tuple[Node, ...] = 3, kept: str = ""
) -> list[Found]:
    cluster = Cluster(*tasks, nodes=nodes)
    cluster.capacity.reserve([kept] if kept else [])
    return told(cluster.index.candidates(kind))


CORDONED = (a_node("node-1"), a_node("node-2", mark=NodeMark.CORDONED))
UNLIKE = (a_node("node-1", gpus=4), a_node("node-2"))
GANG = runs(1, "node-1", "node-2")


@pytest.mark.parametrize(
    ("sentence", "found", "expected"),
    [
        ("a gang with all its nodes", lambda: candidates(GANG), [((1,), ("node-1", "node-2"))]),
        ("not one of higher priority", lambda: candidates(GANG, kind=RequestClass(LOW, 0, None)), []),
        ("not one that leaves anyway", lambda: candidates(leaving(GANG, None)), []),
        ("an equal whose turn is over", lambda: candidates(GANG, kind=EQUAL), [((1,), ("node-1", "node-2"))]),
        ("not an equal whose turn is not", lambda: candidates(runs(1, "node-1", minutes=5), kind=EQUAL), []),
        ("not the node that is kept for the head", lambda: candidates(GANG, kept="node-2"), [((1,), ("node-1",))]),
        ("not a node that takes no new run", lambda: candidates(GANG, nodes=CORDONED), [((1,), ("node-1",))]),
        ("not a node that is no more", lambda: candidates(runs(1, "node-1", "node-9")), [((1,), ("node-1",))]),
        ("not a gang of which no node is of use", lambda: candidates(runs(1, "node-2"), nodes=CORDONED), []),
        ("not a node that is too small", lambda: candidates(GANG, kind=part(5), nodes=UNLIKE), [((1,), ("node-2",))]),
        (
            "a node that is just large enough",
            lambda: candidates(runs(1, "node-1"), kind=part(4), nodes=UNLIKE),
            [((1,), ("node-1",))],
        ),
        (
            "the lower priority first",
            lambda: candidates(runs(1, "node-1"), runs(2, "node-2", level=LOW)),
            [((2,), ("node-2",)), ((1,), ("node-1",))],
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_gang_is_offered(sentence: str, found: Callable[[], list[Found]], expected: list[Found]) -> None:
    assert found() == expected, sentence


SMALL, LARGE = shares(1, {"node-1": (0, 1)}, minutes=10), shares(2, {"node-1": (2, 3, 4, 5)}, minutes=20)
#: It is as high as who asks, and its turn has just begun.
PROTECTED = shares(2, {"node-1": (2, 3, 4, 5)}, minutes=1, level=HIGH)


@pytest.mark.parametrize(
    ("sentence", "found", "expected"),
    [
        ("nobody where enough is free", lambda: candidates(SMALL, LARGE, kind=part(2)), []),
        (
            "the one that loses least, if that is enough",
            lambda: candidates(SMALL, LARGE, kind=part(4)),
            [((1,), ("node-1",))],
        ),
        (
            "the larger one alone, if the small one does not help beside it",
            lambda: candidates(SMALL, LARGE, kind=part(6)),
            [((2,), ("node-1",))],
        ),
        ("both, if both are needed", lambda: candidates(SMALL, LARGE, kind=part(7)), [((1, 2), ("node-1",))]),
        ("both for the whole node", lambda: candidates(SMALL, LARGE), [((1, 2), ("node-1",))]),
        ("nobody if one of them may not leave", lambda: candidates(SMALL, PROTECTED), []),
        (
            "one beside another that leaves anyway",
            lambda: candidates(leaving(SMALL, None), LARGE),
            [((2,), ("node-1",))],
        ),
        ("not where the node is kept for the head", lambda: candidates(SMALL, LARGE, kept="node-1"), []),
        (
            "not the own task of a user who is left out",
            lambda: candidates(replace(SMALL, user="ann"), kind=RequestClass(NORMAL, 0, None, besides="ann")),
            [],
        ),
        (
            "it, for a higher task of that user",
            lambda: candidates(replace(SMALL, user="ann"), kind=replace(WHOLE, besides="ann")),
            [((1,), ("node-1",))],
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_of_a_shared_node_are_offered(sentence: str, found: Callable[[], list[Found]], expected: list[Found]) -> None:
    assert found() == expected, sentence


@pytest.mark.parametrize(("level", "leaves"), [(HIGH, 2), (NORMAL, 1)], ids=["as high", "lower"])
def test_promises_count_beside_the_need_unless_they_give_way(level: Priority, leaves: int) -> None:
    """Two of the eight GPUs are free, and promised; four are needed."""
    cluster = Cluster(SMALL, LARGE)
    cluster.capacity.promise(["node-1"], waits(9, gpus=2), level)
    assert told(cluster.index.candidates(part(4))) == [((leaves,), ("node-1",))]


def test_offers_that_were_kept_are_those_that_would_be_made_again() -> None:
    """After each kind of change; also how many nodes they free, and of whom."""
    tasks = (runs(1, "node-1", "node-2"), runs(2, "node-3"), SMALL_4, LARGE_4, shares(5, {"node-5": (0,)}))
    cluster = Cluster(*tasks, nodes=6)
    kinds = (WHOLE, part(4), EQUAL, RequestClass(NORMAL, 0, 7))
    capacity = cluster.capacity
    changes = (
        lambda: capacity.leave(cluster.turn(1)),
        lambda: capacity.promise(["node-2", "node-4"], waits(9, 2, gpus=2), NORMAL),
        lambda: capacity.take(["node-5"], turn_of(shares(10, {"node-5": (1, 2, 3)}, level=LOW))),
        lambda: capacity.leave(cluster.turn(4)),
        lambda: capacity.release(waits(9, 2, gpus=2)),
        lambda: capacity.take(["node-6"], turn_of(runs(11, "node-6", level=LOW))),
    )
    for kind in kinds:
        cluster.index.candidates(kind)
    for change in changes:
        change()
        turns = [*cluster.turns, *capacity.started]
        for kind in kinds:
            kept, made = (each.candidates(kind) for each in (cluster.index, CandidateIndex(capacity, turns, rules())))
            assert sorted(told(kept)) == sorted(told(made))
            assert kept.total == made.total == sum(len(nodes) for _, nodes in told(made))
            assert {user: count for user, count in kept.own.items() if count} == dict(made.own)
            assert kept.by_node.keys() == made.by_node.keys()
            assert kept.sorted == sorted(kept.sorted)


SMALL_4 = shares(3, {"node-4": (0, 1)}, minutes=10)
LARGE_4 = shares(4, {"node-4": (2, 3, 4, 5)}, minutes=20)


@pytest.mark.parametrize(
    ("sentence", "user", "need", "left_out"),
    [
        ("another user has all candidates", "bob", 2, False),
        ("the own task is in one that is not needed", "ann", 1, False),
        ("the own task is in one that is needed", "ann", 2, True),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_own_equals_are_left_out_where_too_few_offers_remain(
    sentence: str, user: str, need: int, left_out: bool
) -> None:
    mine = shares(1, {"node-1": (0, 1)}, user="ann")
    cluster = Cluster(mine, shares(2, {"node-1": (2, 3)}), shares(3, {"node-2": (0, 1, 2, 3, 4, 5)}), nodes=2)
    kind = RequestClass(NORMAL, 0, 6)
    found = cluster.index.candidates_for(user, kind, need)
    assert found.own.get("ann", 0) == (0 if left_out else 1), sentence
    assert found.kind == (replace(kind, besides="ann") if left_out else kind)


def test_offers_are_made_again_after_a_reservation() -> None:
    cluster = Cluster(GANG)
    cluster.index.candidates(WHOLE)
    cluster.capacity.reserve(["node-1"])
    cluster.index.forget()
    assert told(cluster.index.candidates(WHOLE)) == [((1,), ("node-2",))]


def test_of_those_that_share_a_node_no_more_stay_than_may() -> None:
    """Tasks of two, two and three GPUs; five more are needed. The second may stay, and then the first may not."""
    taken = {1: (0, 1), 2: (2, 3), 3: (4, 5, 6)}
    sharers = [shares(number, {"node-1": gpus}, minutes=5 * number) for number, gpus in taken.items()]
    assert candidates(*sharers, kind=part(6)) == [((1, 3), ("node-1",))]


# -- victims ------------------------------------------------------------------------------------------


def victims(
    task: Task, *running: Task, have: tuple[str, ...] = (), nodes: int | tuple[Node, ...] = 6
) -> list[int] | None:
    cluster = Cluster(*running, nodes=nodes)
    found = VictimSelector(cluster.capacity, rules()).victims(
        cluster.index.candidates(RequestClass(HIGH, 0, task.gpus)), task, have
    )
    return None if found is None else sorted(turn.task.id for turn in found)


TWO_ZONES = tuple(a_node(f"{zone}{number}", zone=zone) for zone in "ab" for number in (1, 2, 3))


@pytest.mark.parametrize(
    ("sentence", "found", "expected"),
    [
        ("nobody if it has enough", lambda: victims(waits(9, 1), GANG, have=("node-3",)), []),
        (
            "the rest of what it needs, of equals the smaller id",
            lambda: victims(waits(9, 2), runs(1, "node-1"), runs(2, "node-2"), have=("node-3",)),
            [1],
        ),
        ("nobody if all together are too few", lambda: victims(waits(9, 4), GANG, have=("node-3",)), None),
        (
            "no second one beside a gang that is enough",
            lambda: victims(
                waits(9, 3), runs(1, "node-1", minutes=1), runs(2, "node-2", "node-3", "node-4", minutes=30)
            ),
            [2],
        ),
        (
            "not one whose node it has already",
            lambda: victims(waits(9, 2), runs(1, "node-1", minutes=1), runs(2, "node-2", minutes=30), have=("node-1",)),
            [2],
        ),
        (
            "not one whose node it avoids",
            lambda: victims(
                waits(9, 1, avoid=frozenset({"node-1"})), runs(1, "node-1", minutes=1), runs(2, "node-2", minutes=30)
            ),
            [2],
        ),
        (
            "those of one zone, though others would lose less",
            lambda: victims(
                waits(9, 2),
                runs(1, "a1", minutes=1),
                runs(2, "b1", minutes=20),
                runs(3, "b2", minutes=20),
                nodes=TWO_ZONES,
            ),
            [2, 3],
        ),
        (
            "the zone where it has a node",
            lambda: victims(
                waits(9, 2), runs(1, "a1", minutes=20), runs(2, "b1", minutes=1), have=("a2",), nodes=TWO_ZONES
            ),
            [1],
        ),
        ("of two zones", lambda: victims(waits(9, 2), runs(1, "a1"), runs(2, "b1"), nodes=TWO_ZONES), [1, 2]),
        (
            "of two zones with a node that it has",
            lambda: victims(waits(9, 3), runs(1, "a1"), runs(2, "b1"), have=("b2",), nodes=TWO_ZONES),
            [1, 2],
        ),
        ("too few in two zones", lambda: victims(waits(9, 3), runs(1, "a1"), runs(2, "b1"), nodes=TWO_ZONES), None),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_victims_are(sentence: str, found: Callable[[], list[int] | None], expected: list[int] | None) -> None:
    assert found() == expected, sentence


def test_of_equal_harm_the_offer_with_the_fewest_nodes_beyond_the_need_is_taken() -> None:
    """A gang of one node that lost twice the time loses as much as one of two nodes."""
    cluster = Cluster(runs(1, "node-1", "node-2", minutes=10), runs(2, "node-3", minutes=20), nodes=4)
    selector = VictimSelector(cluster.capacity, rules())
    for need, expected in ((1, [2]), (2, [1])):
        demand = Demand(task=waits(9, need), need=need)
        found = selector.choose(cluster.index.candidates(WHOLE), demand)
        assert found is not None
        assert [taken.candidate.turns[0].task.id for taken in found] == expected
    assert selector.work == 4, "it counts the candidates that it looked at"


def test_an_offer_tells_its_harm_and_its_place_among_others() -> None:
    cluster = Cluster(runs(1, "node-1"), runs(2, "node-2", level=LOW))
    first, second = cluster.index.candidates(WHOLE).sorted
    assert first.key.harm == rules().harm_of(cluster.turn(2))
    assert first < second
    assert isinstance(first, Candidate)


@pytest.mark.parametrize(("kind", "reason"), [(WHOLE, Reason.PREEMPTED), (EQUAL, Reason.TURN_OVER)])
def test_the_reason_is_that_of_the_rules(kind: RequestClass, reason: Reason) -> None:
    assert reason_for(turn_of(GANG), kind, rules()) is reason
