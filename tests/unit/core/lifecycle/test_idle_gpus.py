"""I1: whose turn ends because its GPUs are idle."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType

import pytest

from hai_scheduler.core.lifecycle.events import GpusIdle
from hai_scheduler.core.lifecycle.idle_gpus import idle_turns
from hai_scheduler.core.lifecycle.transitions import advance
from hai_scheduler.core.model.policy import Policies, Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import Task, TaskState
from kit.builders import a_notice, a_run, a_task, at

YIELD = Policies(default=Policy(idle_action="yield"))
NOW = at(3600)


def idle(*since: float | None, **fields: object) -> Task:
    """A running task whose ranks are idle since these seconds."""
    run = a_run(1, nodes=len(since), priority=Priority.NORMAL)
    ranks = tuple(
        replace(rank, idle_gpus_since=None if when is None else at(when))
        for rank, when in zip(run.ranks, since, strict=True)
    )
    return a_task(nodes=len(since), state=TaskState.RUNNING, run=replace(run, ranks=ranks), **fields)


def waiting(**fields: object) -> Task:
    return a_task(id=2, **({"priority": Priority.NORMAL} | fields))


def ended(task: Task, *others: Task, policies: Policies = YIELD) -> list[Reason]:
    return [event.reason for _, event in idle_turns([task], [task, *others], policies, NOW)]


@pytest.mark.parametrize(
    ("since", "ends"),
    [((2700,), True), ((2701,), False), ((None,), False), ((0, 2700), True), ((0, 2701), False), ((0, None), False)],
)
def test_i1_a_turn_ends_when_all_ranks_are_idle_for_long_enough(since: tuple[float | None, ...], ends: bool) -> None:
    assert ended(idle(*since), waiting()) == [Reason.GPUS_IDLE] * ends


@pytest.mark.parametrize(
    ("other", "ends"),
    [
        ({}, True),
        ({"priority": Priority.HIGH}, True),
        ({"priority": None}, True),
        ({"state": TaskState.SUSPENDED}, True),
        ({"priority": Priority.LOW}, False),
        ({"group": "other"}, False),
        ({"held": True}, False),
        ({"not_before": at(3601)}, False),
        ({"not_before": at(3600)}, True),
    ],
)
def test_i1_a_turn_ends_only_for_a_task_that_could_have_the_nodes(other: dict[str, object], ends: bool) -> None:
    assert ended(idle(0), waiting(**other)) == [Reason.GPUS_IDLE] * ends


def test_i1_nobody_waits_or_nothing_is_to_be_done() -> None:
    assert ended(idle(0)) == []
    assert ended(idle(0), waiting(), policies=Policies()) == []
    mine = Policies(default=YIELD.default, groups=MappingProxyType({a_task().group: Policy()}))
    assert ended(idle(0), waiting(), policies=mine) == []


def test_i1_a_run_that_leaves_already_is_not_told_again() -> None:
    task = idle(0)
    assert task.run is not None
    assert ended(replace(task, run=replace(task.run, notice=a_notice())), waiting()) == []
    assert ended(replace(task, state=TaskState.STARTING), waiting()) == []


def test_i1_the_task_is_told_with_its_grace_and_comes_back_without_a_retry_used() -> None:
    task = idle(0, grace=timedelta(seconds=60))
    ((_, event),) = idle_turns([task], [task, waiting()], YIELD, NOW)
    told, _ = advance(task, event)
    assert told.state is TaskState.SUSPENDING
    assert told.run is not None
    assert told.run.notice is not None
    assert told.run.notice.deadline == NOW + timedelta(seconds=60)
    assert (told.retries, told.rotations, told.held) == (task.retries, task.rotations, False)


def test_i1_a_task_is_idle_since_the_first_of_its_ranks() -> None:
    task, _ = advance(idle(None, None), GpusIdle(at=NOW, rank=1, since=at(500)))
    task, _ = advance(task, GpusIdle(at=NOW, rank=0, since=at(900)))
    assert task.run is not None
    assert task.run.idle_gpus_since == at(500)
    task, _ = advance(task, GpusIdle(at=NOW, rank=1, since=None))
    assert task.run is not None
    assert task.run.idle_gpus_since == at(900)
    over = replace(task.run, ended_at=NOW)
    assert over.idle_gpus_since is None
