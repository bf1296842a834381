"""The state of each GPU while a plan is made: free, leaving, promised, reserved."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hai_scheduler.core.capacity.feasible_nodes import FeasibleNodes
from hai_scheduler.core.capacity.group_capacity import GroupCapacity
from hai_scheduler.core.model.node import Node, NodeMark
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.nodes.node_group import NodeGroup
from kit.builders import a_node, a_notice, a_run, a_task, some_nodes
from unit.core.tables import HIGH, LOW, NORMAL, leaving, runs, shares, turn_of, waits


def a_capacity(*tasks: Task, nodes: int | tuple[Node, ...] = 3) -> GroupCapacity:
    node_group = NodeGroup(some_nodes(nodes) if isinstance(nodes, int) else nodes)
    return GroupCapacity(node_group, [turn_of(task, node_group=node_group) for task in tasks])


def nodes_of(capacity: GroupCapacity) -> FeasibleNodes:
    capacity.check()
    return FeasibleNodes(capacity)


def test_it_knows_free_and_leaving_nodes() -> None:
    capacity = a_capacity(runs(1, "node-1"), leaving(runs(2, "node-2"), None))
    mine = waits(9)
    assert (nodes_of(capacity).now(mine, NORMAL), nodes_of(capacity).soon(mine, NORMAL)) == (
        ["node-3"],
        ["node-2"],
    )
    assert (capacity.count_open(None), capacity.count_soon(None)) == (1, 1)
    names = ["node-2", "node-3", "a node that is no more"]
    assert (
        nodes_of(capacity).now_among(names, mine, NORMAL),
        nodes_of(capacity).soon_among(names, mine, NORMAL),
    ) == (
        ["node-3"],
        ["node-2"],
    )


def test_what_is_promised_is_open_to_the_task_and_to_strictly_higher_ones() -> None:
    capacity = a_capacity(leaving(runs(1, "node-1"), 2))
    mine, other = waits(2), waits(3)
    capacity.promise(["node-1", "node-3"], mine, NORMAL)
    assert capacity.promised.to(mine) == ["node-1", "node-3"]
    assert nodes_of(capacity).now(mine, NORMAL) == ["node-3", "node-2"], "its own promise first"
    assert nodes_of(capacity).now(other, NORMAL) == ["node-2"], "B3: no task of equal priority"
    assert sorted(nodes_of(capacity).now(other, HIGH)) == ["node-2", "node-3"], "B3: a strictly higher task may"
    assert nodes_of(capacity).without_others(["node-2", "node-3"], other) == ["node-2"]
    assert nodes_of(capacity).without_others(["node-2", "node-3"], mine) == ["node-2", "node-3"]
    victim = replace(other, run=a_run(3, notice=a_notice(beneficiary=mine.id)))
    assert nodes_of(capacity).now(victim, HIGH) == ["node-2"], "P5: but not the one that left for it"
    capacity.release(mine)
    assert nodes_of(capacity).now(other, NORMAL) == ["node-2", "node-3"]


def test_a_higher_promise_takes_the_place_of_lower_ones_and_of_no_more_than_it_must() -> None:
    capacity = a_capacity(nodes=1)
    low, mid, high = waits(1, gpus=4), waits(2, gpus=3), waits(3, gpus=4)
    capacity.promise(["node-1"], low, LOW)
    capacity.promise(["node-1"], mid, NORMAL)
    capacity.promise(["node-1"], high, HIGH)
    assert (capacity.promised.to(low), capacity.promised.to(mid), capacity.promised.to(high)) == (
        [],
        ["node-1"],
        ["node-1"],
    )


def test_a_start_takes_the_lowest_free_gpus_and_its_promise_with_them() -> None:
    capacity = a_capacity(shares(1, {"node-1": (0, 2)}), nodes=1)
    task = waits(2, gpus=3)
    capacity.promise(["node-1"], task, NORMAL)
    starting = turn_of(shares(2, {"node-1": (1, 3, 4)}))
    capacity.release(task)
    assert capacity.take(["node-1"], starting) == (((1, 3, 4),), set())
    assert capacity.promised.to(task) == []
    assert capacity.count_open(3) == 1
    assert capacity.count_open(4) == 0


@pytest.mark.parametrize(("kept", "open_now"), [(3, 5), (8, 0)])
def test_gpus_that_are_promised_are_not_open_to_others(kept: int, open_now: int) -> None:
    capacity = a_capacity(nodes=1)
    capacity.promise(["node-1"], waits(1, gpus=kept), NORMAL)
    assert [gpus for gpus in range(1, 9) if capacity.count_open(gpus)] == list(range(1, open_now + 1))
    assert capacity.count_open(None) == 0


def test_it_opens_no_node_that_is_marked_lost_or_avoided() -> None:
    nodes = (a_node("a", mark=NodeMark.CORDONED), a_node("b", ready=False), a_node("c"), a_node("d"))
    task = a_task(avoid=frozenset({"c"}))
    capacity = a_capacity(nodes=nodes)
    assert nodes_of(capacity).now(task, HIGH) == ["d"]
    assert nodes_of(capacity).soon(task, HIGH) == []


def test_what_is_kept_for_the_head_is_open_to_who_may_pass_alone() -> None:
    capacity = a_capacity()
    capacity.reserve(["node-1", "node-2"])
    task = waits(1)
    assert nodes_of(capacity).now(task, NORMAL) == ["node-3"]
    assert nodes_of(capacity).now(task, NORMAL, reserved=True) == ["node-1", "node-2", "node-3"]
    assert capacity.keeps_free
    capacity.reserve(())
    assert nodes_of(capacity).now(task, NORMAL) == ["node-1", "node-2", "node-3"]
    assert not capacity.keeps_free


def test_who_is_told_to_leave_in_the_plan_is_leaving_from_then_on() -> None:
    going = turn_of(runs(1, "node-1"))
    capacity = GroupCapacity(NodeGroup(some_nodes(1)), [going])
    assert (nodes_of(capacity).soon(waits(2), NORMAL), capacity.count_soon(None)) == ([], 0)
    capacity.leave(going)
    assert (nodes_of(capacity).soon(waits(2), NORMAL), capacity.count_soon(None)) == (["node-1"], 1)
    capacity.promise(["node-1"], waits(2), NORMAL)
    assert capacity.count_soon(None) == 0, "it is promised"


def test_a_task_that_fits_no_node_of_the_group_can_never_run_there() -> None:
    node_group = NodeGroup((a_node("a", gpus=2), a_node("b", gpus=8)))
    assert node_group.can_ever(waits(1, 2))
    assert not node_group.can_ever(waits(1, 3))
    assert node_group.can_ever(waits(1, 2, gpus=2))
    assert not node_group.can_ever(waits(1, 2, gpus=3))


def crossing_capacity(*tasks: Task) -> GroupCapacity:
    return a_capacity(*tasks, nodes=tuple(a_node(f"{zone}{n}", zone=zone) for zone in "ab" for n in (1, 2)))


def test_it_counts_those_who_span_zones_now_and_soon() -> None:
    stays, goes = runs(1, "a1", "b1"), leaving(runs(2, "a2", "b2"), None)
    capacity = crossing_capacity(stays, goes)
    assert capacity.crossing(waits(9), NORMAL, soon=False) == 2
    assert capacity.crossing(waits(9), NORMAL, soon=True) == 1
    assert crossing_capacity(runs(1, "a1", "a2")).crossing(waits(9), NORMAL, soon=False) == 0


@pytest.mark.parametrize(
    ("sentence", "level", "task", "count"),
    [
        ("an equal", NORMAL, waits(9), 1),
        ("a higher one", HIGH, waits(9), 0),
        ("itself", NORMAL, waits(1, 2), 0),
    ],
)
def test_a_promise_over_zones_counts_for_those_who_must_respect_it(
    sentence: str, level: Priority, task: Task, count: int
) -> None:
    capacity = crossing_capacity()
    capacity.promise(["a1", "b1"], waits(1, 2), NORMAL)
    assert capacity.crossing(task, level, soon=True) == count, sentence
    capacity.release(waits(1, 2))
    assert capacity.crossing(task, level, soon=True) == 0


def test_what_is_kept_for_the_head_is_free_until_a_task_that_may_pass_has_taken_it() -> None:
    capacity = a_capacity(runs(1, "node-1"))
    assert not capacity.keeps_free, "nothing is kept"
    capacity.reserve(["node-1"])
    assert not capacity.keeps_free, "its node is held"
    capacity.reserve(["node-1", "node-2"])
    assert capacity.keeps_free
    capacity.take(["node-2"], turn_of(runs(2, "node-2")))
    assert not capacity.keeps_free
    assert list(capacity.reserved) == ["node-1", "node-2"]


@pytest.mark.parametrize(
    ("sentence", "gpus", "count"),
    [
        ("open now: it is not further", 3, 0),
        ("more than is open, and all that is left then", 5, 1),
        ("more than is left then", 6, 0),
        ("the whole node, of which a part is held on", None, 0),
    ],
)
def test_it_counts_the_nodes_that_are_open_only_once_others_have_left(
    sentence: str, gpus: int | None, count: int
) -> None:
    """Three GPUs are free and two are being freed; a task that stays holds three."""
    stays, goes = shares(1, {"node-1": (0, 1, 2)}), leaving(shares(2, {"node-1": (3, 4)}), None)
    assert a_capacity(stays, goes, nodes=1).count_soon(gpus) == count, sentence


def test_nodes_that_are_kept_for_the_head_or_cordoned_are_not_counted_as_open_soon() -> None:
    nodes = (a_node("node-1"), a_node("node-2"), a_node("node-3", mark=NodeMark.CORDONED))
    capacity = a_capacity(*(leaving(runs(number, f"node-{number}"), None) for number in (1, 2, 3)), nodes=nodes)
    assert capacity.count_soon(None) == 2
    capacity.reserve(["node-1"])
    assert capacity.count_soon(None) == 1
    capacity.promise(["node-2"], waits(9), NORMAL)
    assert capacity.count_soon(None) == 0


@pytest.mark.parametrize(
    ("sentence", "name", "promised", "left"),
    [
        ("free and being freed, and nothing promised", "node-1", 0, True),
        ("less promised than there is", "node-1", 4, True),
        ("all of it promised", "node-1", 5, False),
        ("held, and nobody leaves", "node-2", 0, False),
        ("a node that is no more", "node-9", 0, False),
    ],
)
def test_a_node_has_something_left_that_is_promised_to_no_task(
    sentence: str, name: str, promised: int, left: bool
) -> None:
    stays, goes = shares(1, {"node-1": (0, 1, 2)}), leaving(shares(2, {"node-1": (3, 4)}), None)
    capacity = a_capacity(stays, goes, runs(3, "node-2"), nodes=2)
    if promised:
        capacity.promise([name], waits(9, gpus=promised), NORMAL)
    assert capacity.has_left(name) == left, sentence


def test_a_start_ends_the_promises_for_which_there_is_no_room_any_more() -> None:
    capacity = a_capacity(nodes=1)
    capacity.promise(["node-1"], waits(1, gpus=4), LOW)
    capacity.promise(["node-1"], waits(2, gpus=2), NORMAL)
    assert capacity.take(["node-1"], turn_of(shares(3, {"node-1": (0, 1, 2)}))) == (((0, 1, 2),), {1})
    assert capacity.promised.to(waits(2)) == ["node-1"]
    nodes_of(capacity)


def test_a_start_on_whole_nodes_names_no_gpus_and_may_span_zones() -> None:
    capacity = crossing_capacity()
    turn = turn_of(runs(1, "a1", "b1"), node_group=capacity.node_group)
    assert capacity.take(["a1", "b1"], turn) == ((), set())
    assert capacity.started == [turn]
    assert capacity.crossing(waits(9), NORMAL, soon=True) == 1
    assert nodes_of(capacity).now(waits(9), NORMAL) == ["a2", "b2"]


def test_a_turn_on_a_node_that_is_no_more_leaves_the_others_of_its_nodes() -> None:
    capacity = a_capacity(runs(1, "node-1", "node-9"), nodes=1)
    (turn,) = capacity.gangs
    capacity.leave(turn)
    assert (list(capacity.leaving), capacity.changed, turn.leaving) == (["node-1"], ["node-1"], True)


def test_nodes_that_are_no_more_are_neither_held_nor_freed() -> None:
    """A gang and a sharer lose one node each while they run; the gang has been told to leave."""
    gang = leaving(runs(1, "node-1", "node-8"), None)
    sharer = shares(2, {"node-2": (0, 1), "node-9": (0, 1)})
    capacity = a_capacity(gang, sharer, nodes=3)
    assert list(capacity.leaving) == ["node-1"]
    assert (capacity.count_open(None), capacity.count_soon(None)) == (1, 1)
    assert nodes_of(capacity).now(waits(9, gpus=6), NORMAL) == ["node-2", "node-3"]


@pytest.mark.parametrize(("gpus", "gave_way"), [(4, set()), (5, {2})])
def test_gpus_that_are_being_freed_count_as_room_for_promises(gpus: int, gave_way: set[int]) -> None:
    """Four GPUs are free and four are being freed; four of them are promised to a lower task."""
    capacity = a_capacity(leaving(shares(1, {"node-1": (0, 1, 2, 3)}), None), nodes=1)
    capacity.promise(["node-1"], waits(2, gpus=4), LOW)
    assert capacity.promise(["node-1"], waits(3, gpus=gpus), HIGH) == gave_way
