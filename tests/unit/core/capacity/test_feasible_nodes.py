"""Which nodes are open to a task, and in which order it prefers them (U2, B1, B3, F3, F4)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hai_scheduler.core.capacity.feasible_nodes import FeasibleNodes
from hai_scheduler.core.capacity.group_capacity import GroupCapacity
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.nodes.node_group import NodeGroup
from kit.builders import a_node, some_nodes
from unit.core.tables import HIGH, LOW, NORMAL, leaving, runs, shares, turn_of, waits

ALIKE = some_nodes(3)
MIXED = (a_node("node-1", gpus=4), a_node("node-2"), a_node("node-3"))
AVOIDS = waits(9, avoid=frozenset({"node-1"}))
PROMISED = waits(9, promise=frozenset({"node-1"}))


def a_capacity(*tasks: Task, nodes: tuple[Node, ...] = ALIKE) -> GroupCapacity:
    node_group = NodeGroup(nodes)
    return GroupCapacity(node_group, [turn_of(task, node_group=node_group) for task in tasks])


@pytest.mark.parametrize(
    ("sentence", "nodes", "task", "level", "promise", "differ"),
    [
        ("no task differs while nothing is promised", ALIKE, waits(9), HIGH, None, False),
        ("one that avoids a node does", ALIKE, AVOIDS, NORMAL, None, True),
        ("a part of a node among unlike nodes does", MIXED, waits(9, gpus=2), NORMAL, None, True),
        ("a whole node among unlike nodes does not", MIXED, waits(9), NORMAL, None, False),
        ("a part among nodes that are alike does not", ALIKE, waits(9, gpus=2), NORMAL, None, False),
        ("one that respects all promises does not", ALIKE, waits(9), NORMAL, NORMAL, False),
        ("one above a promise does", ALIKE, waits(9), HIGH, NORMAL, True),
        ("one that is promised nodes does", ALIKE, PROMISED, NORMAL, NORMAL, True),
        ("one whose promise has gone does not", ALIKE, PROMISED, NORMAL, None, False),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_nodes_of_a_task_differ_from_those_of_others_of_its_size(
    sentence: str, nodes: tuple[Node, ...], task: Task, level: Priority, promise: Priority | None, differ: bool
) -> None:
    capacity = a_capacity(nodes=nodes)
    if promise is not None:
        capacity.promise(["node-1"], waits(1), promise)
    assert FeasibleNodes(capacity).differ(task, level) == differ, sentence


@pytest.mark.parametrize(
    ("sentence", "nodes", "task", "stands"),
    [
        ("a plain task", ALIKE, waits(9), True),
        ("a part of a node", ALIKE, waits(9, gpus=2), True),
        ("not one that avoids a node", ALIKE, AVOIDS, False),
        ("not one that is promised nodes", ALIKE, PROMISED, False),
        ("not a part of a node among unlike nodes", MIXED, waits(9, gpus=2), False),
        ("but a whole node among them", MIXED, waits(9), True),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_refusal_holds_for_all_that_are_no_smaller(
    sentence: str, nodes: tuple[Node, ...], task: Task, stands: bool
) -> None:
    assert FeasibleNodes(a_capacity(nodes=nodes)).stand_for_all(task) == stands, sentence


def test_it_prefers_what_it_is_promised_then_the_fullest_then_by_name() -> None:
    capacity = a_capacity(
        shares(1, {"node-2": (0, 1, 2)}),
        shares(2, {"node-3": (0, 1)}),
        shares(3, {"node-4": (0, 1, 2)}),
        nodes=some_nodes(6),
    )
    task = waits(9, gpus=2)
    assert FeasibleNodes(capacity).now(task, NORMAL) == ["node-2", "node-4", "node-3", "node-1", "node-5", "node-6"]
    capacity.promise(["node-6"], task, NORMAL)
    earlier = replace(task, promise=frozenset({"node-5"}))
    assert FeasibleNodes(capacity).now(earlier, NORMAL)[:2] == ["node-6", "node-5"], "of those the fullest is first"
    assert FeasibleNodes(capacity).now(waits(8, gpus=2), NORMAL)[-2:] == ["node-1", "node-5"]


@pytest.mark.parametrize(
    ("sentence", "promised", "gpus", "names"),
    [
        ("beside no promise", 0, 8, ["node-1"]),
        ("as much as is left beside a promise", 5, 3, ["node-1"]),
        ("no more than that", 5, 4, []),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_node_is_had_while_all_promises_to_others_are_kept(
    sentence: str, promised: int, gpus: int, names: list[str]
) -> None:
    """GPUs that are being freed count: here two of the eight."""
    capacity = a_capacity(leaving(shares(1, {"node-1": (0, 1)}), None), nodes=some_nodes(1))
    if promised:
        capacity.promise(["node-1"], waits(2, gpus=promised), LOW)
    task = waits(9, gpus=gpus)
    assert FeasibleNodes(capacity).without_others(["node-1"], task) == names, sentence
    capacity.promise(["node-1"], task, HIGH)
    assert FeasibleNodes(capacity).without_others(["node-1"], task) == ["node-1"], "its own promise does not count"


@pytest.mark.parametrize(
    ("gpus", "now", "soon"),
    [(1, True, False), (2, True, False), (3, False, True), (5, False, True), (6, False, False)],
)
def test_a_node_is_open_now_or_soon_or_not(gpus: int, now: bool, soon: bool) -> None:
    """Two GPUs are free, three are being freed, three go on being held."""
    stays, goes = shares(1, {"node-1": (0, 1, 2)}), leaving(shares(2, {"node-1": (3, 4, 5)}), None)
    found = FeasibleNodes(a_capacity(stays, goes, nodes=some_nodes(1)))
    task = waits(9, gpus=gpus)
    assert bool(found.now(task, NORMAL)) == bool(found.now_among(["node-1"], task, NORMAL)) == now
    assert bool(found.soon(task, NORMAL)) == bool(found.soon_among(["node-1"], task, NORMAL)) == soon


def test_what_is_kept_for_the_head_is_open_neither_now_nor_soon() -> None:
    capacity = a_capacity(leaving(runs(1, "node-1"), None), nodes=some_nodes(2))
    capacity.reserve(["node-1", "node-2"])
    found = FeasibleNodes(capacity)
    assert (found.now(waits(9), NORMAL), found.soon(waits(9), NORMAL)) == ([], [])
    assert found.now_among(["node-2"], waits(9), NORMAL) == []
    assert found.now_among(["node-2"], waits(9), NORMAL, reserved=True) == ["node-2"]
    avoids = waits(9, avoid=frozenset({"node-2"}))
    assert found.now(avoids, NORMAL, reserved=True) == [], "it avoids the node that is free"


def test_nodes_are_sorted_into_leaves_in_their_order() -> None:
    nodes = (a_node("a", zone="z", leaf="1"), a_node("b", zone="z", leaf="2"), a_node("c", zone="z", leaf="1"))
    found = FeasibleNodes(a_capacity(nodes=nodes)).by_leaf(["c", "b", "a"])
    assert found == {("z", "1"): ["c", "a"], ("z", "2"): ["b"]}
