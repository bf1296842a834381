"""The state of each GPU while a plan is made: free, leaving, promised, reserved."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hai_scheduler.core.capacity.feasible_nodes import FeasibleNodes
from hai_scheduler.core.capacity.ledger import Ledger
from hai_scheduler.core.model.node import Node, NodeMark
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.nodes.node_group import NodeGroup
from kit.builders import a_node, a_notice, a_run, a_task, some_nodes
from unit.core.tables import HIGH, LOW, NORMAL, leaving, runs, shares, turn_of, waits


def ledger(*tasks: Task, nodes: int | tuple[Node, ...] = 3) -> Ledger:
    node_group = NodeGroup(some_nodes(nodes) if isinstance(nodes, int) else nodes)
    return Ledger(node_group, [turn_of(task, node_group=node_group) for task in tasks])


def nodes_of(quota_table: Ledger) -> FeasibleNodes:
    quota_table.check()
    return FeasibleNodes(quota_table)


def test_it_knows_free_and_leaving_nodes() -> None:
    quota_table = ledger(runs(1, "node-1"), leaving(runs(2, "node-2"), None))
    mine = waits(9)
    assert (nodes_of(quota_table).now(mine, NORMAL), nodes_of(quota_table).soon(mine, NORMAL)) == (
        ["node-3"],
        ["node-2"],
    )
    assert (quota_table.count_open(None), quota_table.count_soon(None)) == (1, 1)
    names = ["node-2", "node-3", "a node that is no more"]
    assert (
        nodes_of(quota_table).now_among(names, mine, NORMAL),
        nodes_of(quota_table).soon_among(names, mine, NORMAL),
    ) == (
        ["node-3"],
        ["node-2"],
    )


def test_what_is_promised_is_open_to_the_task_and_to_strictly_higher_ones() -> None:
    quota_table = ledger(leaving(runs(1, "node-1"), 2))
    mine, other = waits(2), waits(3)
    quota_table.promise(["node-1", "node-3"], mine, NORMAL)
    assert quota_table.promised.to(mine) == ["node-1", "node-3"]
    assert nodes_of(quota_table).now(mine, NORMAL) == ["node-3", "node-2"], "its own promise first"
    assert nodes_of(quota_table).now(other, NORMAL) == ["node-2"], "B3: no task of equal priority"
    assert sorted(nodes_of(quota_table).now(other, HIGH)) == ["node-2", "node-3"], "B3: a strictly higher task may"
    assert nodes_of(quota_table).without_others(["node-2", "node-3"], other) == ["node-2"]
    assert nodes_of(quota_table).without_others(["node-2", "node-3"], mine) == ["node-2", "node-3"]
    victim = replace(other, run=a_run(3, notice=a_notice(beneficiary=mine.id)))
    assert nodes_of(quota_table).now(victim, HIGH) == ["node-2"], "P5: but not the one that left for it"
    quota_table.release(mine)
    assert nodes_of(quota_table).now(other, NORMAL) == ["node-2", "node-3"]


def test_a_higher_promise_takes_the_place_of_lower_ones_and_of_no_more_than_it_must() -> None:
    quota_table = ledger(nodes=1)
    low, mid, high = waits(1, gpus=4), waits(2, gpus=3), waits(3, gpus=4)
    quota_table.promise(["node-1"], low, LOW)
    quota_table.promise(["node-1"], mid, NORMAL)
    quota_table.promise(["node-1"], high, HIGH)
    assert (quota_table.promised.to(low), quota_table.promised.to(mid), quota_table.promised.to(high)) == (
        [],
        ["node-1"],
        ["node-1"],
    )


def test_a_start_takes_the_lowest_free_gpus_and_its_promise_with_them() -> None:
    quota_table = ledger(shares(1, {"node-1": (0, 2)}), nodes=1)
    task = waits(2, gpus=3)
    quota_table.promise(["node-1"], task, NORMAL)
    starting = turn_of(shares(2, {"node-1": (1, 3, 4)}))
    quota_table.release(task)
    assert quota_table.take(["node-1"], starting) == (((1, 3, 4),), set())
    assert quota_table.promised.to(task) == []
    assert quota_table.count_open(3) == 1
    assert quota_table.count_open(4) == 0


@pytest.mark.parametrize(("kept", "open_now"), [(3, 5), (8, 0)])
def test_gpus_that_are_promised_are_not_open_to_others(kept: int, open_now: int) -> None:
    quota_table = ledger(nodes=1)
    quota_table.promise(["node-1"], waits(1, gpus=kept), NORMAL)
    assert [gpus for gpus in range(1, 9) if quota_table.count_open(gpus)] == list(range(1, open_now + 1))
    assert quota_table.count_open(None) == 0


def test_it_opens_no_node_that_is_marked_lost_or_avoided() -> None:
    nodes = (a_node("a", mark=NodeMark.CORDONED), a_node("b", ready=False), a_node("c"), a_node("d"))
    task = a_task(avoid=frozenset({"c"}))
    quota_table = ledger(nodes=nodes)
    assert nodes_of(quota_table).now(task, HIGH) == ["d"]
    assert nodes_of(quota_table).soon(task, HIGH) == []


def test_what_is_kept_for_the_head_is_open_to_who_may_pass_alone() -> None:
    quota_table = ledger()
    quota_table.reserve(["node-1", "node-2"])
    task = waits(1)
    assert nodes_of(quota_table).now(task, NORMAL) == ["node-3"]
    assert nodes_of(quota_table).now(task, NORMAL, reserved=True) == ["node-1", "node-2", "node-3"]
    assert quota_table.keeps_free
    quota_table.reserve(())
    assert nodes_of(quota_table).now(task, NORMAL) == ["node-1", "node-2", "node-3"]
    assert not quota_table.keeps_free


def test_who_is_told_to_leave_in_the_plan_is_leaving_from_then_on() -> None:
    going = turn_of(runs(1, "node-1"))
    quota_table = Ledger(NodeGroup(some_nodes(1)), [going])
    assert (nodes_of(quota_table).soon(waits(2), NORMAL), quota_table.count_soon(None)) == ([], 0)
    quota_table.leave(going)
    assert (nodes_of(quota_table).soon(waits(2), NORMAL), quota_table.count_soon(None)) == (["node-1"], 1)
    quota_table.promise(["node-1"], waits(2), NORMAL)
    assert quota_table.count_soon(None) == 0, "it is promised"


def test_a_task_that_fits_no_node_of_the_group_can_never_run_there() -> None:
    node_group = NodeGroup((a_node("a", gpus=2), a_node("b", gpus=8)))
    assert node_group.can_ever(waits(1, 2))
    assert not node_group.can_ever(waits(1, 3))
    assert node_group.can_ever(waits(1, 2, gpus=2))
    assert not node_group.can_ever(waits(1, 2, gpus=3))


def crossing_book(*tasks: Task) -> Ledger:
    return ledger(*tasks, nodes=tuple(a_node(f"{zone}{n}", zone=zone) for zone in "ab" for n in (1, 2)))


def test_it_counts_those_who_span_zones_now_and_soon() -> None:
    stays, goes = runs(1, "a1", "b1"), leaving(runs(2, "a2", "b2"), None)
    quota_table = crossing_book(stays, goes)
    assert quota_table.crossing(waits(9), NORMAL, soon=False) == 2
    assert quota_table.crossing(waits(9), NORMAL, soon=True) == 1
    assert crossing_book(runs(1, "a1", "a2")).crossing(waits(9), NORMAL, soon=False) == 0


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
    quota_table = crossing_book()
    quota_table.promise(["a1", "b1"], waits(1, 2), NORMAL)
    assert quota_table.crossing(task, level, soon=True) == count, sentence
    quota_table.release(waits(1, 2))
    assert quota_table.crossing(task, level, soon=True) == 0


def test_what_is_kept_for_the_head_is_free_until_a_task_that_may_pass_has_taken_it() -> None:
    book = ledger(runs(1, "node-1"))
    assert not book.keeps_free, "nothing is kept"
    book.reserve(["node-1"])
    assert not book.keeps_free, "its node is held"
    book.reserve(["node-1", "node-2"])
    assert book.keeps_free
    book.take(["node-2"], turn_of(runs(2, "node-2")))
    assert not book.keeps_free
    assert list(book.reserved) == ["node-1", "node-2"]


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
    assert ledger(stays, goes, nodes=1).count_soon(gpus) == count, sentence


def test_nodes_that_are_kept_for_the_head_or_cordoned_are_not_counted_as_open_soon() -> None:
    nodes = (a_node("node-1"), a_node("node-2"), a_node("node-3", mark=NodeMark.CORDONED))
    book = ledger(*(leaving(runs(number, f"node-{number}"), None) for number in (1, 2, 3)), nodes=nodes)
    assert book.count_soon(None) == 2
    book.reserve(["node-1"])
    assert book.count_soon(None) == 1
    book.promise(["node-2"], waits(9), NORMAL)
    assert book.count_soon(None) == 0


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
    book = ledger(stays, goes, runs(3, "node-2"), nodes=2)
    if promised:
        book.promise([name], waits(9, gpus=promised), NORMAL)
    assert book.has_left(name) == left, sentence


def test_a_start_ends_the_promises_for_which_there_is_no_room_any_more() -> None:
    book = ledger(nodes=1)
    book.promise(["node-1"], waits(1, gpus=4), LOW)
    book.promise(["node-1"], waits(2, gpus=2), NORMAL)
    assert book.take(["node-1"], turn_of(shares(3, {"node-1": (0, 1, 2)}))) == (((0, 1, 2),), {1})
    assert book.promised.to(waits(2)) == ["node-1"]
    nodes_of(book)


def test_a_start_on_whole_nodes_names_no_gpus_and_may_span_zones() -> None:
    book = crossing_book()
    turn = turn_of(runs(1, "a1", "b1"), node_group=book.node_group)
    assert book.take(["a1", "b1"], turn) == ((), set())
    assert book.started == [turn]
    assert book.crossing(waits(9), NORMAL, soon=True) == 1
    assert nodes_of(book).now(waits(9), NORMAL) == ["a2", "b2"]


def test_a_turn_on_a_node_that_is_no_more_leaves_the_others_of_its_nodes() -> None:
    book = ledger(runs(1, "node-1", "node-9"), nodes=1)
    (turn,) = book.gangs
    book.leave(turn)
    assert (list(book.leaving), book.changed, turn.leaving) == (["node-1"], ["node-1"], True)


def test_nodes_that_are_no_more_are_neither_held_nor_freed() -> None:
    """A gang and a sharer lose one node each while they run; the gang has been told to leave."""
    gang = leaving(runs(1, "node-1", "node-8"), None)
    sharer = shares(2, {"node-2": (0, 1), "node-9": (0, 1)})
    book = ledger(gang, sharer, nodes=3)
    assert list(book.leaving) == ["node-1"]
    assert (book.count_open(None), book.count_soon(None)) == (1, 1)
    assert nodes_of(book).now(waits(9, gpus=6), NORMAL) == ["node-2", "node-3"]


@pytest.mark.parametrize(("gpus", "gave_way"), [(4, set()), (5, {2})])
def test_gpus_that_are_being_freed_count_as_room_for_promises(gpus: int, gave_way: set[int]) -> None:
    """Four GPUs are free and four are being freed; four of them are promised to a lower task."""
    book = ledger(leaving(shares(1, {"node-1": (0, 1, 2, 3)}), None), nodes=1)
    book.promise(["node-1"], waits(2, gpus=4), LOW)
    assert book.promise(["node-1"], waits(3, gpus=gpus), HIGH) == gave_way
