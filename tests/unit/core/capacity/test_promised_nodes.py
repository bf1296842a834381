"""Promises of nodes, found by task and by node (B3)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hai_scheduler.core.capacity.node_states import NodeStates
from hai_scheduler.core.capacity.promised_nodes import PromisedNodes
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.nodes.node_group import NodeGroup
from kit.builders import a_node, a_notice, a_run
from unit.core.tables import ABOVE, HIGH, LOW, NORMAL, waits

NODES = NodeGroup([a_node("a1", zone="a"), a_node("a2", zone="a"), a_node("b1", zone="b")])
#: It left its nodes for task 1.
VICTIM = replace(waits(9), run=a_run(9, notice=a_notice(beneficiary=1)))


class Book:
    """Promises of three empty nodes in two zones."""

    def __init__(self) -> None:
        self.node_states = NodeStates(NODES, [])
        self.promised = PromisedNodes(NODES, self.node_states)

    def promise(self, task: Task, level: Priority, *names: str) -> set[int]:
        gave_way: set[int] = set()
        for name in names:
            gave_way |= self.promised.add(self.node_states[name], task, level)
            self.promised.update(self.node_states[name])
        self.promised.note_zones(names, task, level)
        return gave_way

    def end(self, task: Task) -> None:
        for node_state in self.promised.remove(task):
            self.promised.update(node_state)
        self.promised.check()


def test_a_promise_is_found_by_its_task_and_by_its_node() -> None:
    book = Book()
    book.promise(waits(1, 2), NORMAL, "a2", "a1")
    assert book.promised.to(waits(1)) == ["a1", "a2"]
    assert book.promised.to(waits(2)) == []
    assert [book.promised.is_to(name, 1) for name in ("a1", "b1")] == [True, False]
    assert not book.promised.is_to("a1", 2)
    assert not book.promised.is_to("a1", None)
    assert (sorted(book.promised.names), book.promised.tasks()) == (["a1", "a2"], {1})
    book.end(waits(1))
    assert (sorted(book.promised.names), book.promised.tasks(), book.promised.to(waits(1))) == ([], set(), [])


@pytest.mark.parametrize(("level", "below"), [(LOW, False), (NORMAL, False), (ABOVE, True), (HIGH, True)])
def test_there_is_a_promise_of_lower_priority_for_those_strictly_above_the_lowest(level: Priority, below: bool) -> None:
    book = Book()
    assert not book.promised.are_below(level), "there is no promise at all"
    book.promise(waits(1), HIGH, "a1")
    assert not book.promised.are_below(level)
    book.promise(waits(2), NORMAL, "a2")
    assert book.promised.are_below(level) == below, "the lowest one counts"
    book.end(waits(2))
    assert not book.promised.are_below(level), "it has ended"


@pytest.mark.parametrize(
    ("sentence", "task", "level", "count"),
    [
        ("an equal respects it", waits(9), NORMAL, 1),
        ("a lower one respects it", waits(9), LOW, 1),
        ("a higher one does not", waits(9), HIGH, 0),
        ("a higher one that left for its task does (P5)", VICTIM, HIGH, 1),
        ("a task does not count its own", waits(1), NORMAL, 0),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_promise_over_two_zones_counts_for_those_who_respect_it(
    sentence: str, task: Task, level: Priority, count: int
) -> None:
    book = Book()
    book.promise(waits(1, 2), NORMAL, "a1", "b1")
    book.promise(waits(2), NORMAL, "a2")
    assert book.promised.across_zones(task, level) == count, sentence
    book.end(waits(1))
    assert book.promised.across_zones(task, level) == 0


def test_lower_promises_give_way_lowest_first_and_no_more_of_them_than_needed() -> None:
    book = Book()
    for number, level in ((1, NORMAL), (2, LOW), (3, NORMAL)):
        assert book.promise(waits(number, gpus=2), level, "a1") == set(), "six of eight GPUs are promised"
    assert book.promise(waits(4, gpus=4), HIGH, "a1") == {2}
    assert book.promise(waits(5, gpus=3), NORMAL, "a1") == set(), "equals do not give way: it is promised too much"
    assert [promise.task_id for promise in book.node_states["a1"].promises] == [1, 3, 4, 5]
    assert book.promised.to(waits(2)) == []


def test_a_promise_takes_the_place_of_the_earlier_one_to_the_same_task() -> None:
    book = Book()
    book.promise(waits(1, gpus=6), NORMAL, "a1")
    assert book.promise(waits(2, gpus=2), LOW, "a1") == set()
    assert book.promise(waits(1, gpus=4), NORMAL, "a1") == set(), "its own six GPUs do not count beside the four"
    assert book.node_states["a1"].kept() == 6


def test_promises_that_a_node_cannot_keep_any_more_end_lowest_first() -> None:
    book = Book()
    for number, level in ((1, NORMAL), (2, LOW), (3, HIGH)):
        book.promise(waits(number, gpus=2), level, "a1")
    node_state = book.node_states["a1"]
    assert book.promised.fit(node_state) == set(), "there is room for all"
    node_state.free = [0, 1, 2, 3]
    assert book.promised.fit(node_state) == {2}
    node_state.free = [0]
    assert book.promised.fit(node_state) == {1, 3}
    assert book.promised.tasks() == set()
