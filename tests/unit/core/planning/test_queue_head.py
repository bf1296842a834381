"""The head of the queue: which nodes are kept for it, and who may pass it (B1, B2)."""

from __future__ import annotations

import pytest

from hai_scheduler.core.capacity.group_capacity import GroupCapacity
from hai_scheduler.core.capacity.preemption import CandidateIndex, RequestClass
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.nodes.node_group import NodeGroup
from hai_scheduler.core.ordering.fair_share import FairShare
from hai_scheduler.core.ordering.rules import HaiRules
from hai_scheduler.core.planning.pending import PendingTask
from hai_scheduler.core.planning.queue_head import QueueHead
from kit.builders import some_nodes
from unit.core.tables import HIGH, LOW, NORMAL, NOW, for_minutes, runs, turn_of, waits

RULES = HaiRules(Policy(), NOW, FairShare((), (), Policy(), NOW), {})
#: The head waits until the turn on node-1 has lasted its slice, for ten minutes.
HELD = runs(1, "node-1", minutes=20)
SHORT, LONG = waits(8, time_limit=for_minutes(10)), waits(9, time_limit=for_minutes(11))


class Cluster:
    """Nodes, and the head of their queue."""

    def __init__(self, *tasks: Task, nodes: int = 2) -> None:
        node_group = NodeGroup(some_nodes(nodes))
        turns = [turn_of(task, node_group=node_group) for task in tasks]
        self.capacity = GroupCapacity(node_group, turns)
        self.index = CandidateIndex(self.capacity, turns, RULES)
        self.head = QueueHead(self.capacity, self.index, RULES)

    def reserve(self, nodes: int = 2, **fields: object) -> None:
        task = waits(5, nodes, **fields)
        self.head.reserve_for(PendingTask(task, task.priority or NORMAL, 0))


def test_without_a_head_nothing_is_kept_and_there_is_nobody_to_pass() -> None:
    head = Cluster(HELD).head
    assert (head.reservation, head.keeps_free, dict(head.by_priority)) == (None, False, {})
    assert not head.is_passed_by(SHORT)
    assert head.stays_before()(SHORT)


def test_its_nodes_are_kept_and_those_that_end_in_time_may_pass() -> None:
    cluster = Cluster(HELD)
    cluster.reserve()
    head = cluster.head
    assert head.reservation is not None
    assert (head.reservation.nodes, head.reservation.at) == (("node-2", "node-1"), NOW + for_minutes(10))
    assert sorted(cluster.capacity.reserved) == ["node-1", "node-2"]
    assert head.keeps_free
    assert [head.is_passed_by(task) for task in (SHORT, LONG)] == [True, False]
    assert [head.stays_before()(task) for task in (SHORT, LONG)] == [False, True]


def test_while_no_kept_node_is_free_nobody_passes() -> None:
    cluster = Cluster(HELD, runs(2, "node-2", minutes=20))
    cluster.reserve()
    assert cluster.head.reservation is not None
    assert not cluster.head.keeps_free
    assert not cluster.head.is_passed_by(SHORT)
    assert cluster.head.stays_before()(SHORT)


def test_who_stays_before_one_head_does_so_when_another_follows() -> None:
    cluster = Cluster(HELD)
    cluster.reserve()
    stays = cluster.head.stays_before()
    cluster.head.release()
    assert [stays(task) for task in (SHORT, LONG)] == [False, True]


def test_the_nodes_are_open_again_when_it_is_released() -> None:
    cluster = Cluster(HELD)
    cluster.reserve()
    first = cluster.head.reservation
    cluster.head.release()
    assert (cluster.head.reservation, list(cluster.capacity.reserved)) == (None, [])
    assert dict(cluster.head.by_priority) == {NORMAL: first}, "what was kept is remembered"
    cluster.head.release()
    assert dict(cluster.head.by_priority) == {NORMAL: first}


def test_no_node_is_kept_where_the_time_is_not_known() -> None:
    cluster = Cluster(runs(1, "node-1", level=HIGH))
    cluster.reserve()
    assert (cluster.head.reservation, dict(cluster.head.by_priority)) == (None, {})
    assert list(cluster.capacity.reserved) == []


@pytest.mark.parametrize(("kept", "before"), [(False, [("node-1",), ("node-2",)]), (True, [("node-2",)])])
def test_a_node_that_is_kept_is_offered_to_no_other(kept: bool, before: list[tuple[str, ...]]) -> None:
    """The candidates were made before the reservation, and are made again after it and after its release."""
    cluster = Cluster(runs(1, "node-1", level=LOW, minutes=20), runs(2, "node-2", level=LOW, minutes=30))
    kind = RequestClass(HIGH, 0, None)

    def candidates() -> list[tuple[str, ...]]:
        return sorted(candidate.nodes for candidate in cluster.index.candidates(kind).sorted)

    assert candidates() == [("node-1",), ("node-2",)]
    if kept:
        cluster.reserve(1)
    assert candidates() == before
    cluster.head.release()
    assert candidates() == [("node-1",), ("node-2",)]
