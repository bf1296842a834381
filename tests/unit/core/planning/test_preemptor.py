"""Nodes that a task can have soon: nodes that are being freed, or whose runs are told to leave (P1 to P5)."""

from __future__ import annotations

import pytest

from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.planning.group_state import GroupState
from hai_scheduler.core.planning.placer import Placer
from hai_scheduler.core.planning.preemptor import FreedNodes, Preemptor
from kit.builders import a_node
from unit.core.planning.plan_parts import a_group, at_its_turn
from unit.core.tables import HIGH, LOW, leaving, runs, shares, waits


def parts(*tasks: Task, nodes: object = 2, policy: Policy | None = None) -> tuple[GroupState, Preemptor]:
    more = {} if policy is None else {"policy": policy}
    state = a_group(*tasks, nodes=nodes, **more)
    return state, Preemptor(state, Placer(state))


def found(nodes: tuple[str, ...], victims: tuple[int, ...]) -> tuple[tuple[str, ...], set[int]]:
    return nodes, set(victims)


#: Tasks of the highest priority here, whose turns have just begun.
STAYS = (runs(1, "node-1", level=HIGH, minutes=1), runs(2, "node-2", level=HIGH, minutes=1))
#: sentence, the tasks, of which task 9 waits; nodes that it can have, or else whose turns end
FOUND = [
    ("a lower task leaves", (runs(1, "node-1", level=LOW), STAYS[1], waits(9, priority=HIGH)), found((), (1,))),
    (
        "nodes that are being freed go first",
        (leaving(runs(1, "node-1", level=LOW), None), runs(2, "node-2", level=LOW), waits(9, priority=HIGH)),
        found(("node-1",), ()),
    ),
    (
        "one that is being freed and one more",
        (leaving(runs(1, "node-1", level=LOW), None), runs(2, "node-2", level=LOW), waits(9, 2, priority=HIGH)),
        found((), (2,)),
    ),
    (
        "a free node and one that is being freed",
        (leaving(runs(1, "node-1", level=LOW), None), waits(9, 2, priority=HIGH)),
        found(("node-1", "node-2"), ()),
    ),
    ("no task of a higher priority leaves", (STAYS[0], STAYS[1], waits(9)), None),
    ("too few can leave", (runs(1, "node-1", level=LOW), STAYS[1], waits(9, 2, priority=HIGH)), None),
    ("more than there are", (runs(1, "node-1", level=LOW), waits(9, 3, priority=HIGH)), None),
    (
        "the own equal stays",
        (runs(1, "node-1", user="ann", minutes=300), runs(2, "node-2", user="ann", minutes=300), waits(9, user="ann")),
        None,
    ),
    (
        "an equal of another user whose turn is over",
        (runs(1, "node-1", user="ann", minutes=300), runs(2, "node-2", user="bob", minutes=300), waits(9, user="ann")),
        found((), (2,)),
    ),
    (
        "who shares a node leaves for a part of it",
        (shares(1, {"node-1": (0, 1, 2, 3, 4, 5)}, level=LOW), STAYS[1], waits(9, gpus=4, priority=HIGH)),
        found((), (1,)),
    ),
    (
        "a part that is free needs no victim by count alone",
        (shares(1, {"node-1": (0, 1)}, level=LOW), STAYS[1], waits(9, gpus=4, priority=HIGH)),
        found(("node-1",), ()),
    ),
    (
        "a node that it avoids is no help",
        (runs(1, "node-1", level=LOW), STAYS[1], waits(9, priority=HIGH, avoid=frozenset({"node-1"}))),
        None,
    ),
]


@pytest.mark.parametrize(("tasks", "answer"), [row[1:] for row in FOUND], ids=[row[0] for row in FOUND])
def test_what_a_task_can_have_soon(tasks: tuple[Task, ...], answer: tuple[tuple[str, ...], set[int]] | None) -> None:
    state, preemptor = parts(*tasks)
    soon = preemptor.find(at_its_turn(state, 9))
    if answer is None:
        assert soon is None
        return
    assert soon is not None
    assert (soon.nodes, {turn.task.id for turn in soon.victims}) == answer
    assert not [turn for turn in state.turns.values() if turn.leaving and turn.task.id in answer[1]], "find tells none"


def test_ending_the_victims_frees_the_nodes_for_the_task() -> None:
    state, preemptor = parts(runs(1, "node-1", level=LOW), runs(2, "node-2", level=LOW), waits(9, 2, priority=HIGH))
    pending = at_its_turn(state, 9)
    soon = preemptor.find(pending)
    assert soon is not None
    assert preemptor.end(soon.victims, pending) == ("node-1", "node-2")
    assert all(turn.leaving for turn in state.turns.values())
    state.capacity.check()
    assert preemptor.find(pending) == FreedNodes(("node-1", "node-2")), "nobody is told twice"


def test_b3_whose_promised_nodes_are_all_on_their_way_needs_nothing_else() -> None:
    task = waits(9, promise=frozenset({"node-2"}), priority=HIGH)
    state, preemptor = parts(runs(1, "node-1", level=LOW), leaving(runs(2, "node-2", level=LOW), 9), task)
    state.capacity.promise(["node-2"], task, HIGH)
    assert preemptor.find(at_its_turn(state, 9)) == FreedNodes(("node-2",))
    assert preemptor.work == 0


def test_examined_offers_are_counted() -> None:
    state, preemptor = parts(runs(1, "node-1", level=LOW), runs(2, "node-2", level=LOW), waits(9, priority=HIGH))
    preemptor.find(at_its_turn(state, 9))
    assert preemptor.work > 0


def test_more_is_freed_where_more_than_the_promised_nodes_becomes_free() -> None:
    """Task 1 holds two nodes, of which one is promised to the task that it leaves for."""
    state, preemptor = parts(runs(1, "node-1", "node-2", level=LOW), waits(9, priority=HIGH), nodes=2)
    pending = at_its_turn(state, 9)
    soon = preemptor.find(pending)
    assert soon is not None
    names = preemptor.end(soon.victims, pending)
    state.capacity.promise(names, pending.task, HIGH)
    assert preemptor.frees_more(soon.victims)
    state.capacity.promise(["node-2"], waits(8, priority=HIGH), HIGH)
    assert not preemptor.frees_more(soon.victims)


def test_f2_the_right_to_span_zones_is_freed_as_well() -> None:
    nodes = (a_node("a1", zone="a"), a_node("b1", zone="b"))
    state, preemptor = parts(runs(1, "a1", "b1", level=LOW), waits(9, 2, priority=HIGH), nodes=nodes)
    pending = at_its_turn(state, 9)
    soon = preemptor.find(pending)
    assert soon is not None
    names = preemptor.end(soon.victims, pending)
    state.capacity.promise(names, pending.task, HIGH)
    assert preemptor.frees_more(soon.victims)
