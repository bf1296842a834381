"""When a waiting task can have its nodes, and which nodes these are (B1, B2, F1, F2)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from hai_scheduler.core.capacity.group_capacity import GroupCapacity
from hai_scheduler.core.capacity.reservation import Reservation, earliest, leaves_at
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.core.nodes.node_group import NodeGroup
from hai_scheduler.core.ordering.fair_share import FairShare
from hai_scheduler.core.ordering.rules import HaiRules
from kit.builders import a_node, a_notice, some_nodes
from unit.core.tables import HIGH, LOW, NORMAL, NOW, ago, for_minutes, runs, shares, turn_of, waits

RULES = HaiRules(Policy(), NOW, FairShare((), (), Policy(), NOW), {})


def a_capacity(*tasks: Task, nodes: int | tuple[Node, ...] = 1) -> GroupCapacity:
    node_group = NodeGroup(some_nodes(nodes) if isinstance(nodes, int) else nodes)
    return GroupCapacity(node_group, [turn_of(task, node_group=node_group) for task in tasks])


def reserved(task: Task, capacity: GroupCapacity) -> Reservation | None:
    return earliest(task, NORMAL, 0, capacity, RULES)


def found(task: Task, *running: Task, nodes: int | tuple[Node, ...] = 1) -> tuple[float, tuple[str, ...]] | None:
    """In how many minutes the task can have which nodes; None if that is not known."""
    made = reserved(task, a_capacity(*running, nodes=nodes))
    return None if made is None else ((made.at - NOW).total_seconds() / 60, made.nodes)


def told(task: Task, minutes: float) -> Task:
    """The task, told a while ago to leave by a deadline, given in minutes from now."""
    assert task.run is not None
    notice = a_notice(Reason.PREEMPTED, at=ago(10), deadline=NOW + for_minutes(minutes))
    return replace(task, state=TaskState.SUSPENDING, run=replace(task.run, notice=notice))


#: A sentence, the fields of a task that has run for 20 minutes, its deadline in minutes if it was told to leave, and
#: when it can have left for user9 at NORMAL: in minutes, None if that is not known. A slice is 30 minutes.
LEAVES = [
    ("a lower one, now", {"level": LOW}, None, 0),
    ("a lower one, now, though its time limit is later", {"level": LOW, "time_limit": for_minutes(60)}, None, 0),
    ("a higher one, nobody knows when", {"level": HIGH}, None, None),
    ("a higher one, at its time limit", {"level": HIGH, "time_limit": for_minutes(50)}, None, 30),
    ("a higher one that is over its time limit, now", {"level": HIGH, "time_limit": for_minutes(19)}, None, 0),
    ("an equal, when its slice is over", {}, None, 10),
    ("an equal, at its time limit if that is sooner", {"time_limit": for_minutes(25)}, None, 5),
    ("an equal, after its slice if that is sooner", {"time_limit": for_minutes(45)}, None, 10),
    ("an equal that is over its time limit, now", {"time_limit": for_minutes(19)}, None, 0),
    ("an equal that is over its slice, now", {"minutes": 40}, None, 0),
    ("an own equal, nobody knows when", {"user": "user9"}, None, None),
    ("an own equal, at its time limit", {"user": "user9", "time_limit": for_minutes(50)}, None, 30),
    ("one that was told, at its deadline", {}, 7, 7),
    ("a higher one that was told, too", {"level": HIGH}, 7, 7),
    ("a lower one that was told, then and not now", {"level": LOW}, 7, 7),
    ("one that is late, now", {}, -1, 0),
]


@pytest.mark.parametrize(("fields", "deadline", "minutes"), [row[1:] for row in LEAVES], ids=[row[0] for row in LEAVES])
def test_a_turn_can_have_ended(fields: dict[str, object], deadline: float | None, minutes: float | None) -> None:
    """The time is the same for a turn, for a gang's nodes, and for a node that is shared."""
    fields = {"minutes": 20, **fields}
    gang, part = runs(1, "node-1", **fields), shares(1, {"node-1": (0, 1, 2, 3, 4, 5)}, **fields)  # type: ignore[arg-type]
    if deadline is not None:
        gang, part = told(gang, deadline), told(part, deadline)
    when = leaves_at(turn_of(gang), waits(9), NORMAL, 0, RULES)
    assert when == at_minutes(minutes)
    expected = None if minutes is None else (minutes, ("node-1",))
    assert found(waits(9), gang) == expected
    assert found(waits(9), part) == expected
    assert found(waits(9, gpus=3), part) == expected
    assert found(waits(9, gpus=2), part) == (0, ("node-1",)), "two GPUs are free"


def at_minutes(minutes: float | None) -> datetime | None:
    return None if minutes is None else NOW + for_minutes(minutes)


def test_a_turn_that_this_plan_ends_has_left_when_its_grace_is_over() -> None:
    capacity = a_capacity(runs(1, "node-1", grace=for_minutes(3)))
    capacity.leave(capacity.gangs[0])
    made = reserved(waits(9), capacity)
    assert made is not None
    assert made.at == NOW + for_minutes(3)


SOON, LATER = runs(1, "node-1", minutes=25), runs(2, "node-2", minutes=20)


@pytest.mark.parametrize(
    ("sentence", "task", "running", "nodes", "expected"),
    [
        ("free nodes, by name", waits(9, 2), (), 3, (0, ("node-1", "node-2"))),
        ("a free one before one that is held", waits(9), (SOON,), 2, (0, ("node-2",))),
        ("the one that is free first", waits(9), (LATER, SOON), 2, (5, ("node-1",))),
        ("both, when the last of them is free", waits(9, 2), (LATER, SOON), 2, (10, ("node-1", "node-2"))),
        ("not the node that it avoids", waits(9, avoid=frozenset({"node-1"})), (LATER, SOON), 2, (10, ("node-2",))),
        ("never more nodes than there are", waits(9, 3), (), 2, None),
        ("nobody knows when, of one of two", waits(9, 2), (SOON, runs(2, "node-2", level=HIGH)), 2, None),
        ("the one of which it is known", waits(9), (SOON, runs(2, "node-2", level=HIGH)), 2, (5, ("node-1",))),
        (
            "several parts of one node add up",
            waits(9),
            (shares(1, {"node-1": (0, 1)}, minutes=25), shares(2, {"node-1": (2, 3)}, minutes=20)),
            1,
            (10, ("node-1",)),
        ),
        (
            "no more parts than are needed",
            waits(9, gpus=5),
            (shares(1, {"node-1": (0, 1)}, minutes=25), shares(2, {"node-1": (2, 3, 4, 5)}, minutes=20)),
            1,
            (10, ("node-1",)),
        ),
        (
            "the part that is free first will do",
            waits(9, gpus=4),
            (shares(1, {"node-1": (0, 1)}, minutes=25), shares(2, {"node-1": (2, 3, 4, 5)}, minutes=20)),
            1,
            (5, ("node-1",)),
        ),
        (
            "a part, among nodes that differ",
            waits(9, gpus=6),
            (runs(1, "small", minutes=29), runs(2, "large", minutes=20)),
            (a_node("small", gpus=4), a_node("large")),
            (10, ("large",)),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_it_keeps(
    sentence: str, task: Task, running: tuple[Task, ...], nodes: int | tuple[Node, ...], expected: object
) -> None:
    assert found(task, *running, nodes=nodes) == expected, sentence


#: Zone b is free five minutes before zone a.
EACH = tuple(runs(n, name, minutes=20 if n < 3 else 25) for n, name in enumerate(("a1", "a2", "b1", "b2"), 1))
ZONES = tuple(a_node(f"{zone}{number}", zone=zone) for zone in "ab" for number in (1, 2))


@pytest.mark.parametrize(
    ("sentence", "running", "expected"),
    [
        ("the zone that is free first", EACH, (5, ("b1", "b2"))),
        ("one zone, if two are no sooner", (runs(1, "a1", minutes=20), runs(2, "b1", minutes=40)), (0, ("b1", "b2"))),
        ("two zones, if that is sooner", (runs(1, "a1", minutes=20), runs(2, "b1", minutes=20)), (0, ("a2", "b2"))),
        ("one zone, while another run spans two", (runs(1, "a1", "b1", minutes=20, level=HIGH),), None),
        (
            "two zones, once the other run that spans two has left",
            (runs(1, "a1", "b1", minutes=20, level=HIGH, time_limit=for_minutes(24)),),
            (4, ("a2", "a1")),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_over_zones_it_keeps(sentence: str, running: tuple[Task, ...], expected: object) -> None:
    assert found(waits(9, 2), *running, nodes=ZONES) == expected, sentence


def test_what_is_promised_to_others_does_not_count() -> None:
    capacity = a_capacity(nodes=2)
    capacity.promise(["node-1"], waits(1), NORMAL)
    made = reserved(waits(9), capacity)
    assert made is not None
    assert made.nodes == ("node-2",)
    assert reserved(waits(9, 2), capacity) is None
