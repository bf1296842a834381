"""Whose turn ends because its GPUs are idle (I1)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.lifecycle.events import AskedToSuspend, GpusIdle
from hai_scheduler.core.lifecycle.transitions import advance
from hai_scheduler.core.model.decisions import Plan, Suspend
from hai_scheduler.core.model.policy import Policies, Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import Task, TaskState
from kit.builders import a_quota, a_run, a_task, at
from kit.snapshots import carried_out
from unit.core.tables import EVERYBODY, NOW, ago, decide, for_minutes, runs, shares, snapshot, starts, suspends, waits

YIELD = Policy(idle_action="yield")


def idle(task: Task, *minutes: float | None) -> Task:
    """The task, whose ranks have been idle for these minutes; None: that rank works. One number stands for all."""
    assert task.run is not None
    each = minutes if len(minutes) > 1 else minutes * len(task.run.ranks)
    ranks = tuple(
        replace(rank, idle_gpus_since=None if length is None else ago(length))
        for rank, length in zip(task.run.ranks, each, strict=True)
    )
    return replace(task, run=replace(task.run, ranks=ranks))


def one(minutes: float | None = 15, **fields: object) -> Task:
    """A task that began a minute ago on the only node, and whose GPUs have been idle for longer."""
    return idle(runs(1, "node-1", minutes=1, **fields), minutes)


def reasons(made: Plan) -> list[Reason]:
    return [decision.reason for decision in made.decisions if isinstance(decision, Suspend)]


@pytest.mark.parametrize(
    ("minutes", "ends"),
    [((15,), True), ((14.99,), False), ((None,), False), ((60, 15), True), ((60, 14), False), ((60, None), False)],
)
def test_i1_a_turn_ends_when_all_ranks_are_idle_for_long_enough(minutes: tuple[float | None, ...], ends: bool) -> None:
    names = [f"node-{number}" for number in range(1, len(minutes) + 1)]
    there = idle(runs(1, *names, minutes=1), *minutes)
    made = decide(snapshot(there, waits(2, len(names)), nodes=len(names)), YIELD)
    assert suspends(made) == ({1: 2} if ends else {})
    assert reasons(made) == [Reason.GPUS_IDLE] * ends


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({}, Reason.GPUS_IDLE),
        ({"user": "user1"}, Reason.GPUS_IDLE),
        ({"served": for_minutes(600)}, Reason.GPUS_IDLE),
        ({"priority": Priority.HIGH}, Reason.PREEMPTED),
        ({"priority": None}, Reason.PREEMPTED),
        ({"priority": Priority.LOW}, None),
        ({"group": "other"}, None),
        ({"held": True}, None),
        ({"not_before": ago(-1)}, None),
        ({"nodes": 2}, None),
        ({"nodes": 99}, None),
        ({"user": "poor"}, None),
    ],
)
def test_i1_a_turn_ends_only_for_a_task_that_then_starts(other: dict[str, object], reason: Reason | None) -> None:
    quotas = (*EVERYBODY, *(a_quota("user:poor", priority=level, limit=0) for level in Priority))
    made = decide(snapshot(one(), waits(2, **other), nodes=1, quotas=quotas), YIELD)
    assert reasons(made) == ([] if reason is None else [reason])


def test_i1_nobody_waits_or_nothing_is_to_be_done() -> None:
    assert reasons(decide(snapshot(one(), nodes=1), YIELD)) == []
    assert reasons(decide(snapshot(one(), waits(2), nodes=1))) == []
    elsewhere = Policies(default=YIELD, groups=MappingProxyType({a_task().group: Policy()}))
    assert reasons(decide(snapshot(one(), waits(2), nodes=1), elsewhere)) == []


def test_i1_a_run_that_is_not_up_yet_is_not_idle() -> None:
    starting = a_task(state=TaskState.STARTING, run=a_run(started_at=ago(1)))
    assert reasons(decide(snapshot(idle(starting, 60), waits(2), nodes=1), YIELD)) == []


def test_i1_who_waits_is_told_when_the_turn_may_end() -> None:
    made = decide(snapshot(one(10), waits(2), nodes=1), YIELD)
    assert made.verdicts[2].earliest_start == made.look_again == NOW + for_minutes(5)


def test_i1_a_plan_is_made_again_when_a_turn_that_is_over_becomes_idle() -> None:
    """A task of the same user waits: it could not have the nodes before (P3)."""
    over = idle(runs(1, "node-1", minutes=600), 10)
    made = decide(snapshot(over, waits(2, user="user1"), nodes=1), YIELD)
    assert (reasons(made), made.look_again) == ([], NOW + for_minutes(5))


def test_i1_neither_a_short_turn_nor_one_without_a_save_is_protected() -> None:
    protected = {"unsaved": 5, "rotations": (ago(4), ago(3), ago(2), ago(1)), "leaving_took": timedelta(hours=1)}
    assert reasons(decide(snapshot(one(**protected), waits(2), nodes=1), YIELD)) == [Reason.GPUS_IDLE]


def test_i1_idle_turns_end_before_those_that_work_and_no_more_of_them_than_are_needed() -> None:
    works = runs(3, "node-2", minutes=600)
    others = (idle(runs(1, "node-1", minutes=1), 60), idle(runs(4, "node-3", minutes=1), 60))
    made = decide(snapshot(works, *others, waits(2), nodes=3), YIELD)
    assert set(suspends(made)) < {1, 4}
    assert len(suspends(made)) == 1


def test_i1_on_a_shared_node_the_idle_task_leaves() -> None:
    there = (idle(shares(1, {"node-1": (0, 1, 2, 3)}, minutes=1), 60), shares(3, {"node-1": (4, 5, 6, 7)}, minutes=1))
    assert suspends(decide(snapshot(*there, waits(2, gpus=4), nodes=1), YIELD)) == {1: 2}


@given(
    minutes=st.sampled_from([None, 5, 15, 600]),
    began=st.sampled_from([1, 20, 600]),
    user=st.sampled_from(["user1", "user2"]),
    nodes=st.sampled_from([1, 2, 3, 9]),
    limit=st.sampled_from([0, 1, 2, None]),
    level=st.sampled_from([Priority.LOW, Priority.NORMAL, Priority.HIGH]),
)
def test_i1_who_left_is_never_started_instead_of_the_one_it_left_for(
    minutes: float | None, began: float, user: str, nodes: int, limit: int | None, level: Priority
) -> None:
    there = idle(runs(1, "node-1", "node-2", minutes=began), minutes)
    quotas = tuple(a_quota("public", priority=one, limit=limit) for one in Priority)
    shot = snapshot(there, waits(2, nodes, user=user, priority=level), nodes=2, quotas=quotas)
    made = decide(shot, YIELD)
    if not suspends(made):
        return
    assert suspends(made) == {1: 2}
    # Its ranks have left, whatever else has changed: the next plan starts the one that it left for.
    after = carried_out(shot, made)
    gone = tuple(replace(task, state=TaskState.SUSPENDED, run=None) if task.id == 1 else task for task in after.tasks)
    assert set(starts(decide(replace(after, tasks=gone), YIELD))) == {2}


def test_i1_the_task_is_told_with_its_grace_and_comes_back_without_a_retry_used() -> None:
    task = replace(one(), grace=timedelta(seconds=60))
    told, _ = advance(task, AskedToSuspend(at=NOW, reason=Reason.GPUS_IDLE, limit=YIELD.max_grace))
    assert told.state is TaskState.SUSPENDING
    assert told.run is not None
    assert told.run.notice is not None
    assert told.run.notice.deadline == NOW + timedelta(seconds=60)
    assert (told.retries, told.rotations, told.held) == (task.retries, task.rotations, False)


def test_i1_a_task_is_idle_since_the_first_of_its_ranks() -> None:
    task = runs(1, "node-1", "node-2")
    task, _ = advance(task, GpusIdle(at=NOW, rank=1, since=at(500)))
    task, _ = advance(task, GpusIdle(at=NOW, rank=0, since=at(900)))
    assert task.run is not None
    assert task.run.idle_gpus_since == at(500)
    task, _ = advance(task, GpusIdle(at=NOW, rank=1, since=None))
    assert task.run is not None
    assert task.run.idle_gpus_since == at(900)
    over = replace(task.run, ended_at=NOW)
    assert over.idle_gpus_since is None
