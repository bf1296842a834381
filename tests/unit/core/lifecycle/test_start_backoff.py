"""Starts that fail for reasons that are not the user's (`core.lifecycle.start_backoff`): waits, nodes, words."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hai_scheduler.core.lifecycle import events as ev
from hai_scheduler.core.lifecycle.start_backoff import (
    LONGEST_WAIT,
    PROVEN_AFTER,
    row_with,
    wait_after,
    why_broken,
    why_not_started,
)
from hai_scheduler.core.lifecycle.transitions import Kill, advance
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Blame, RankState
from hai_scheduler.core.model.task import TaskState
from kit.builders import a_rank, a_run, a_task, at

FAILED = ev.StartFailed(at=at(10), message="no disk", nodes=frozenset({"node-1"}), give_up=False)


@pytest.mark.parametrize(("failed", "wait"), [(0, 15), (1, 30), (2, 60), (5, 300), (10_000, 300)])
def test_each_start_that_fails_doubles_the_wait_for_the_next(failed: int, wait: float) -> None:
    task = a_task(state=TaskState.STARTING, failed_starts=failed)
    again, _ = advance(task, FAILED)
    assert again.not_before == at(10 + wait)


def test_a_node_that_nothing_is_held_against_is_not_tried_again_either() -> None:
    event = replace(FAILED, nodes=frozenset(), doubtful=frozenset({"node-2"}))
    again, _ = advance(a_task(state=TaskState.STARTING), event)
    assert again.avoid == {"node-2"}


def test_what_fails_beside_a_rank_that_could_not_be_started_is_not_the_users() -> None:
    bad = a_rank(0, state=RankState.EXITED, unstarted=Blame.NODE)
    ranks = (bad, a_rank(1, state=RankState.EXITED, exit_code=3), a_rank(2))
    task, effects = advance(a_task(state=TaskState.STARTING, nodes=3), ev.RanksSeen(at=at(10), ranks=ranks))
    assert (task.run.failed_ranks, task.state) == ((), TaskState.STARTING)
    assert effects == (Kill(task.run.id),)


def test_a_wait_is_bounded_however_often_starts_have_failed() -> None:
    assert wait_after(10**9) == LONGEST_WAIT


def test_why_a_task_could_not_be_started_is_said_of_that_alone() -> None:
    failed, _ = advance(a_task(state=TaskState.STARTING), FAILED)
    assert why_not_started(failed) == "no disk"
    assert why_not_started(replace(failed, reason=Reason.NODE_LOST)) is None
    assert why_not_started(a_task()) is None
    other = a_rank(0, message="its pod is being deleted"), a_rank(1, message="no disk", unstarted=Blame.NODE)
    assert why_not_started(replace(failed, run=a_run(ranks=other))) == "no disk"
    silent = replace(failed, run=a_run(ranks=(a_rank(0),)))
    assert why_not_started(silent) == "it could not be started on its nodes"


@pytest.mark.parametrize(
    ("up_for", "failed", "row"),
    [
        (None, 0, 1),
        (None, 2, 3),
        (timedelta(0), 2, 3),
        (PROVEN_AFTER - timedelta(microseconds=1), 2, 3),
        (PROVEN_AFTER, 2, 1),
        (timedelta(seconds=-5), 2, 3),
    ],
    ids=["never up", "never up again", "just up", "not proven", "proven", "a clock was set back"],
)
def test_h4_a_row_of_killed_supervisors_begins_again_after_a_run_that_has_lasted(
    up_for: timedelta | None, failed: int, row: int
) -> None:
    run = a_run(running_at=None if up_for is None else at(9) - up_for)
    assert row_with(a_task(state=TaskState.RUNNING, run=run, failed_starts=failed), at(9)) == row


def test_how_a_run_broke_is_said_of_a_killed_supervisor_alone() -> None:
    ranks = a_rank(0, state=RankState.EXITED, exit_code=137), a_rank(1, state=RankState.LOST, supervisor_killed=True)
    task = a_task(state=TaskState.SUSPENDED, run=a_run(ranks=ranks), reason=Reason.SUPERVISOR_KILLED)
    assert why_broken(task) == f"the supervisor of rank 1 on {ranks[1].node} was killed"
    assert why_not_started(task) is None
    assert why_broken(replace(task, reason=Reason.NODE_LOST)) is None
    assert why_broken(a_task()) is None
