"""Turns that end whether tasks wait or not."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hai_scheduler.core.capacity.forced_exits import forced_exits
from hai_scheduler.core.model.decisions import Stop, Suspend
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import TaskState
from kit.builders import a_notice, a_run, a_task, at
from unit.core.tables import turn_of


def decided(draining: tuple[str, ...] = (), *, seconds: float = 600, task=None, **snapshot: object):
    task = task or a_task(state=TaskState.RUNNING)
    turn = turn_of(task, Policy(), at(seconds))
    found = list(forced_exits([turn], Snapshot(now=at(seconds), nodes=(), tasks=(task,), **snapshot), draining))
    assert all(one is turn for one, _ in found)
    return [decision for _, decision in found]


def test_no_task_must_leave_while_nothing_is_the_matter() -> None:
    assert decided() == []


def test_a_task_ends_at_its_time_limit() -> None:
    task = replace(a_task(state=TaskState.RUNNING), time_limit=timedelta(seconds=30))
    assert decided(task=task) == [Stop(task_id=task.id, reason=Reason.TIME_LIMIT)]
    assert decided(task=replace(task, state=TaskState.STOPPING)) == []


def test_who_runs_on_a_node_that_is_drained_is_told_once() -> None:
    task = a_task(state=TaskState.RUNNING)
    (node,) = set(task.run.nodes)
    assert decided((node,)) == [Suspend(task_id=task.id, reason=Reason.DRAINED)]
    assert decided(("another",)) == []
    told = a_task(state=TaskState.SUSPENDING, run=a_run(notice=a_notice()))
    assert decided((node,), task=told) == []


@pytest.mark.parametrize(("grace", "count"), [(None, 0), (1, 1), (3600, 0)], ids=["none", "short", "long"])
def test_a_pause_shortens_what_was_told_before(grace: float | None, count: int) -> None:
    told = a_task(state=TaskState.SUSPENDING, run=a_run(notice=a_notice()))
    length = None if grace is None else timedelta(seconds=grace)
    assert len(decided(task=told, seconds=10, paused=True, pause_grace=length)) == count
    assert len(decided(paused=True, pause_grace=length)) == 1
