"""What would let a task start: each change that is named was tried in a plan, and it helps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from hai_scheduler.core.explaining import what_if
from hai_scheduler.core.explaining.alternatives import ChangeKind, WhatIf
from hai_scheduler.core.explaining.what_if import MOST_PLANS, applied, counterfactuals
from hai_scheduler.core.model.decisions import Plan, Start, Suspend
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.core.planning.plan import plan
from kit.builders import a_quota, a_run, a_task, at, some_nodes
from kit.snapshots import carried_out, emptied, snapshots

POLICY = Policy()
EVERYBODY = tuple(
    Quota(subject="public", group="training", priority=level, limit=None)
    for level in (Priority.LOW, Priority.NORMAL, Priority.HIGH, Priority.VERY_HIGH)
)


def starts(shot: Snapshot, task_id: TaskId) -> bool:
    made = plan(shot, POLICY)
    return any(isinstance(one, Start) and one.task_id == task_id for one in made.decisions)


@given(snapshots())
@settings(max_examples=150, deadline=None)
def test_every_change_that_is_named_lets_the_task_start_or_has_nodes_freed_for_it(shot: Snapshot) -> None:
    shot = carried_out(shot, plan(shot, POLICY))
    for task in shot.tasks:
        if not task.state.waiting:
            continue
        for change in counterfactuals(shot, POLICY, task.id):
            changed = applied(shot, task.id, change)
            made = plan(changed, POLICY)
            if change.starts_now:
                assert starts(changed, task.id)
            else:
                told = {d.task_id for d in made.decisions if isinstance(d, Suspend) and d.beneficiary == task.id}
                assert told == {holder.task_id for holder in change.suspends}
                assert starts(emptied(carried_out(changed, made)), task.id)


@given(snapshots())
@settings(max_examples=100, deadline=None)
def test_no_explanation_asks_the_plan_too_often(shot: Snapshot) -> None:
    count = 0

    def counted(*given: Any, **named: Any) -> Plan:
        nonlocal count
        count += 1
        return plan(*given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(what_if, "plan", counted)
        for task in shot.tasks:
            count = 0
            counterfactuals(shot, POLICY, task.id)
            assert count <= MOST_PLANS


def running(number: int, nodes: tuple[str, ...], **fields: object) -> Task:
    run = a_run(number, nodes=nodes, priority=fields.get("priority", Priority.NORMAL))
    return a_task(number, state=TaskState.RUNNING, user="bob", nodes=len(nodes), run=run, **fields)


def found(*tasks: Task, count: int = 4, quotas: tuple[Quota, ...] = EVERYBODY) -> dict[ChangeKind, WhatIf]:
    """The changes that would let the first task start, by kind."""
    shot = Snapshot(now=at(minutes=5), nodes=some_nodes(count), tasks=tasks, quotas=quotas)
    return {change.kind: change for change in counterfactuals(shot, POLICY, tasks[0].id)}


def test_the_lowest_level_that_helps_is_named_with_those_who_would_leave() -> None:
    full = running(2, ("node-1", "node-2", "node-3", "node-4"))
    changes = found(a_task(1, nodes=2), full)
    level = changes[ChangeKind.PRIORITY]
    assert (level.priority, level.starts_now, level.starts_by) == (Priority.HIGH, False, at(minutes=7))
    assert [holder.task_id for holder in level.suspends] == [2]
    assert set(changes) == {ChangeKind.PRIORITY}, "fewer nodes would not help: none is free"


def test_a_level_between_is_found() -> None:
    full = running(2, ("node-1", "node-2", "node-3", "node-4"), priority=Priority.HIGH)
    assert found(a_task(1, nodes=2, priority=Priority.LOW), full)[ChangeKind.PRIORITY].priority is Priority.VERY_HIGH


def test_the_largest_smaller_number_of_nodes_is_named() -> None:
    changes = found(a_task(1, nodes=4), running(2, ("node-1",)))
    assert (changes[ChangeKind.NODES].nodes, changes[ChangeKind.NODES].starts_now) == (3, True)


def test_fewer_gpus_are_named() -> None:
    node = ("node-1",)
    half = replace(running(2, node), gpus=6)
    run = half.run
    assert run is not None
    half = replace(half, run=replace(run, ranks=tuple(replace(rank, gpus=tuple(range(6))) for rank in run.ranks)))
    changes = found(a_task(1, gpus=5), half, count=1)
    assert (changes[ChangeKind.GPUS].gpus, changes[ChangeKind.GPUS].starts_now) == (2, True)


def test_the_limit_that_would_do_is_named_and_so_is_a_lower_level_that_has_quota() -> None:
    quotas = (
        a_quota("public", limit=3),
        a_quota("public", priority=Priority.LOW, limit=None),
        a_quota("total:ml", limit=9),
    )
    mine = replace(running(2, ("node-1", "node-2")), user="alice")
    changes = found(a_task(1, nodes=2), mine, quotas=quotas)
    limit = changes[ChangeKind.LIMIT]
    assert (limit.subject, limit.limit, limit.priority) == ("user:alice", 4, Priority.NORMAL)
    assert limit.starts_now
    assert changes[ChangeKind.PRIORITY].priority is Priority.LOW
    assert changes[ChangeKind.NODES].nodes == 1


def test_the_cap_of_a_whole_group_is_named_as_its_own() -> None:
    rows = (*EVERYBODY, a_quota("total:ml", limit=2))
    shot = Snapshot(
        now=at(minutes=5),
        nodes=some_nodes(4),
        tasks=(a_task(1, nodes=2), running(2, ("node-1",))),
        quotas=rows,
        groups_of={"alice": frozenset({"ml"}), "bob": frozenset({"ml"})},
    )
    limits = [one for one in counterfactuals(shot, POLICY, TaskId(1)) if one.kind is ChangeKind.LIMIT]
    assert [(one.subject, one.limit) for one in limits] == [("total:ml", 3)]


@pytest.mark.parametrize(
    ("sentence", "task", "paused"),
    [
        ("held", a_task(1, held=True), False),
        ("running", running(1, ("node-1",)), False),
        ("paused", a_task(1, nodes=4), True),
        ("starting now", a_task(1), False),
    ],
)
def test_nothing_is_named_where_nothing_of_the_kind_would_help(sentence: str, task: Task, paused: bool) -> None:
    shot = Snapshot(now=at(), nodes=some_nodes(1), tasks=(task,), quotas=EVERYBODY, paused=paused)
    assert counterfactuals(shot, POLICY, TaskId(1)) == (), sentence
