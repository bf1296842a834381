"""One node while a plan is made: what of it is open, promised, held or about to be free (U2, B3, F3)."""

from __future__ import annotations

import pytest

from hai_scheduler.core.capacity.node_states import NodeState, NodeStates, Promise, held_by
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.core.nodes.node_group import NodeGroup
from kit.builders import a_node, a_notice, a_run, some_nodes
from unit.core.tables import HIGH, LOW, NORMAL, NOW, leaving, runs, shares, turn_of, waits


def a_state(*promises: tuple[int, int], free: int = 8, gpus: int = 8, **fields: object) -> NodeState:
    """A node with that many free GPUs; promises are (task, GPUs), at NORMAL."""
    made = NodeState(a_node("n", gpus=gpus), gpus or 1, list(range(free)), True, [], [])
    made.promises += [Promise(TaskId(task), NORMAL, count) for task, count in promises]
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def left_for_two(number: int) -> Task:
    """A waiting task whose last run was told to leave for task 2."""
    notice = a_notice(Reason.PREEMPTED, beneficiary=TaskId(2))
    run = a_run(number, notice=notice, ended_at=NOW, reason=Reason.PREEMPTED)
    return waits(number, state=TaskState.SUSPENDED, run=run)


@pytest.mark.parametrize(
    ("state", "is_open"),
    [
        (a_state(), 8),
        (a_state(free=3), 3),
        (a_state((5, 2)), 6),
        (a_state((5, 2), (6, 3)), 3),
        (a_state((5, 8), free=2), -6),
        (a_state(reserved=True), 0),
        (a_state((5, 2), reserved=True), 0),
        (a_state(usable=False), 0),
    ],
    ids=["free", "a part", "a promise", "two", "promised before it is free", "reserved", "both", "cordoned"],
)
def test_what_is_open_to_every_task(state: NodeState, is_open: int) -> None:
    assert state.open() == is_open


def test_b3_promises_are_counted_by_priority() -> None:
    state = a_state()
    assert (state.kept(), state.kept(LOW)) == (0, 0)
    state.promises = [Promise(TaskId(n), level, n) for n, level in ((1, LOW), (2, NORMAL), (4, HIGH))]
    assert [state.kept(level) for level in (None, LOW, NORMAL, HIGH)] == [7, 7, 6, 4]


@pytest.mark.parametrize(
    ("task", "kept"),
    [
        (waits(1), 4),
        (left_for_two(1), 6),
        (waits(2), 4),
        (waits(4), 0),
        (left_for_two(4), 2),
    ],
    ids=["another", "one that left for the low one", "the low one itself", "the high one", "the high one, left for it"],
)
def test_b3_p5_promises_at_a_level_or_to_whom_a_task_left_for_are_respected(task: Task, kept: int) -> None:
    """Task 2 has a promise of 2 GPUs at LOW, task 4 one of 4 GPUs at HIGH; the task waits at NORMAL."""
    state = a_state()
    assert state.kept_from(task, NORMAL) == 0
    state.promises = [Promise(TaskId(2), LOW, 2), Promise(TaskId(4), HIGH, 4)]
    assert state.kept_from(task, NORMAL) == kept


@pytest.mark.parametrize(
    ("fields", "suits"),
    [
        ({}, True),
        ({"avoid": frozenset({"n"})}, False),
        ({"avoid": frozenset({"m"})}, True),
        ({"gpus": 4}, True),
        ({"gpus": 5}, False),
        ({"gpus": 4, "avoid": frozenset({"n"})}, False),
    ],
    ids=["whole", "avoided", "another avoided", "as large", "larger", "avoided part"],
)
def test_f3_where_a_task_may_be_placed_once_it_is_free(fields: dict[str, object], suits: bool) -> None:
    state = a_state(gpus=4, free=0)
    assert state.suits(waits(1, **fields)) is suits
    state.usable = False
    assert not state.suits(waits(1, **fields))


def test_u2_a_part_is_its_gpus_and_a_whole_node_is_all_of_them() -> None:
    state = a_state()
    assert [state.amount(waits(1, gpus=gpus)) for gpus in (None, 3, 9)] == [8, 3, 9]
    whole, part = turn_of(runs(1, "n")), turn_of(shares(2, {"n": (0, 1)}))
    assert (held_by(whole, state), held_by(part, state)) == (8, 2)
    gone = turn_of(leaving(shares(3, {"n": (2, 3, 4)}), None))
    state.turns = [part, gone]
    assert state.leaving() == 3


def test_a_node_without_gpus_can_be_held() -> None:
    states = NodeStates(NodeGroup([a_node("cpu", gpus=0)]), [])
    assert (states["cpu"].size, states["cpu"].open(), states["cpu"].amount(waits(1))) == (1, 1, 1)
    assert not states["cpu"].suits(waits(1, gpus=1)), "the one that it counts as is no GPU"


def test_nodes_that_gangs_hold_have_nothing_free() -> None:
    gang = turn_of(runs(1, "node-1", "node-2"))
    states = NodeStates(NodeGroup(some_nodes(3)), [gang])
    found = [(state.name, len(state.free), state.turns) for state in states.all()]
    assert found == [("node-1", 0, [gang]), ("node-2", 0, [gang]), ("node-3", 8, [])]
    assert states.of_gangs() == {"node-1", "node-2"}


def test_only_usable_nodes_of_gangs_can_be_freed_for_others() -> None:
    nodes = (a_node("node-1", mark=NodeMark.CORDONED), a_node("node-2"))
    states = NodeStates(NodeGroup(nodes), [turn_of(runs(1, "node-1", "node-2", "gone"))])
    assert states.of_gangs() == {"node-2"}
    assert not states["node-1"].usable


def test_a_node_is_made_once_and_one_that_is_gone_is_found_to_be() -> None:
    states = NodeStates(NodeGroup(some_nodes(1)), [])
    assert dict(states) == {}
    states["node-1"].reserved = True
    assert states["node-1"].reserved
    assert states.find("node-1") is states["node-1"]
    assert states.find("gone") is None
    with pytest.raises(KeyError):
        states["gone"]
    assert list(states) == ["node-1"]


def test_leaves_of_one_name_in_two_zones_are_two() -> None:
    states = NodeStates(NodeGroup([a_node("n1", zone="a", leaf="x"), a_node("n2", zone="b", leaf="x")]), [])
    assert states["n1"].leaf != states["n2"].leaf
