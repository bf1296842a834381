"""Which tasks are refused together with a task, and when the refusal is forgotten (B2, P3)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hai_scheduler.core.capacity.group_capacity import GroupCapacity
from hai_scheduler.core.capacity.preemption import CandidateIndex
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.nodes.node_group import NodeGroup
from hai_scheduler.core.ordering.fair_share import FairShare
from hai_scheduler.core.ordering.queue import Subqueue
from hai_scheduler.core.ordering.rules import HaiRules
from hai_scheduler.core.ordering.task_buckets import TaskBucket, shape_of
from hai_scheduler.core.planning.pending import PendingTask
from hai_scheduler.core.planning.queue_head import QueueHead
from hai_scheduler.core.planning.refusals import Refusals, Scope
from kit.builders import some_nodes
from unit.core.tables import NORMAL, NOW, POLICY, runs, turn_of, waits

MINUTE = timedelta(minutes=1)
SMALL, MIDDLE, LARGE = waits(1, 1, user="ann"), waits(2, 2, user="bob"), waits(3, 3, user="ann")


def head_of(*tasks: Task) -> QueueHead:
    """The head of the queue on two nodes, on which `tasks` run."""
    rules = HaiRules(POLICY, NOW, FairShare((), (), POLICY, NOW), {})
    turns = [turn_of(task) for task in tasks]
    capacity = GroupCapacity(NodeGroup(some_nodes(2)), turns)
    return QueueHead(capacity, CandidateIndex(capacity, turns, rules), rules)


def subqueue() -> Subqueue:
    return Subqueue({(0.0, task.user): TaskBucket([task]) for task in (SMALL, MIDDLE)}, {"ann": 0.0, "bob": 0.0})


def with_large() -> Subqueue:
    return Subqueue(
        {(0.0, "bob"): TaskBucket([MIDDLE]), (0.0, "ann"): TaskBucket([SMALL, LARGE])}, {"ann": 0.0, "bob": 0.0}
    )


@pytest.mark.parametrize(
    ("scope", "covered"),
    [
        (Scope.EVERYBODY, [False, True, True]),
        (Scope.NOT_PASSING, [False, True, True]),
        (Scope.USER, [False, True, False]),
        (Scope.TASK, [False, False, False]),
    ],
)
def test_what_is_no_easier_is_refused_with_it(scope: Scope, covered: list[bool]) -> None:
    """No node is kept for a head here, so that no task can pass the head."""
    refusals = Refusals(head_of())
    refusals.add(MIDDLE, with_large(), scope)
    assert [refusals.covers(task) for task in (SMALL, MIDDLE, LARGE)] == covered
    promised = waits(2, 2, user="bob", promise=frozenset({"node-1"}))
    assert not refusals.covers(promised), "what is promised is its own (B3)"
    assert refusals.some_specific == (scope in (Scope.USER, Scope.TASK))


def test_all_of_a_user_and_size_are_refused_or_not_or_it_depends() -> None:
    refusals = Refusals(head_of())
    assert refusals.covers_all("bob", shape_of(MIDDLE)) is False
    refusals.add(MIDDLE, with_large(), Scope.NOT_PASSING)
    assert refusals.covers_all("bob", shape_of(MIDDLE)) is None
    refusals.add(MIDDLE, with_large(), Scope.USER)
    assert refusals.covers_all("bob", shape_of(MIDDLE)) is True
    assert refusals.covers_all("ann", shape_of(LARGE)) is None


def test_who_may_pass_the_head_is_not_refused_with_those_who_may_not() -> None:
    """B2: it ends by its time limit before the head can start."""
    head = head_of(runs(1, "node-1", minutes=1))
    head.reserve_for(PendingTask(waits(8, 2), NORMAL, 0))
    assert head.keeps_free
    refusals = Refusals(head)
    refusals.add(SMALL, subqueue(), Scope.NOT_PASSING)
    assert refusals.covers(waits(4, 1))
    assert not refusals.covers(waits(5, 1, time_limit=5 * MINUTE))
    head.release()
    assert refusals.covers(waits(5, 1, time_limit=5 * MINUTE)), "nothing is kept any more that it might use"


def test_a_walk_begins_without_refusals() -> None:
    refusals = Refusals(head_of())
    refusals.add(SMALL, subqueue(), Scope.EVERYBODY)
    assert refusals.cover_subqueue(subqueue())
    refusals.add(SMALL, subqueue(), Scope.USER)
    refusals.add(SMALL, subqueue(), Scope.NOT_PASSING)
    refusals.reopen(when=False)
    assert not refusals.reopened
    refusals.reopen()
    assert refusals.reopened
    unplaceable = refusals.unplaceable
    refusals.forget()
    assert not refusals.reopened
    assert not refusals.some_specific
    assert not refusals.cover_subqueue(subqueue())
    assert not any(refusals.covers(task) for task in (SMALL, MIDDLE, LARGE))
    assert refusals.covers_all("bob", shape_of(MIDDLE)) is False
    assert not unplaceable.shapes, "the queue hears of it"
