"""What a change of a task adds: a wait, a start, an end with its reason, a notice, lost time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from hai_scheduler.core.model.leaving import Left, Profile
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.core.tallies.families import NOTICE, RUNS_ENDED, START, WAIT
from hai_scheduler.core.tallies.moments import Nodes, count, lost_node_seconds
from hai_scheduler.core.tallies.tallies import Tallies
from kit.builders import a_notice, a_rank, a_run, a_task, at, some_nodes


def nodes_of(*nodes: Node) -> Nodes:
    return Nodes({node.name: node.gpus for node in nodes or some_nodes(4)})


def counted(before: Task, after: Task) -> Tallies:
    tallies = Tallies()
    count(tallies, before, after, "training")
    return tallies


def waiting(**fields: Any) -> Task:
    return a_task(state=TaskState.QUEUED, run=None, **fields)


def with_run(state: TaskState = TaskState.RUNNING, **fields: Any) -> Task:
    return a_task(state=state, run=a_run(**{"started_at": at(0), "running_at": at(4), **fields}))


def sums(tallies: Tallies) -> dict[tuple[str, tuple[str, ...]], float]:
    """The sums of all histograms, and all counters, by family and labels."""
    found = {(name, key): each.total for name, of in tallies.histograms.items() for key, each in of.items()}
    return found | {(name, key): value for name, of in tallies.counters.items() for key, value in of.items()}


def test_a_wait_ends_when_the_turn_begins_and_counts_for_the_level_of_the_run() -> None:
    started = with_run(TaskState.STARTING, started_at=at(90), running_at=None, priority=Priority.HIGH)
    found = counted(waiting(waiting_since=at(30)), started)
    assert sums(found) == {(WAIT.name, ("training", "HIGH")): 60}
    assert sums(counted(started, started)) == {}


def test_a_start_counts_once_when_all_ranks_are_up() -> None:
    starting, up = with_run(TaskState.STARTING, running_at=None), with_run(running_at=at(4))
    assert sums(counted(starting, up)) == {(START.name, ("training",)): 4}
    assert sums(counted(up, up)) == {}


@pytest.mark.parametrize(
    ("fields", "reason", "clean"),
    [
        ({"reason": Reason.SUCCEEDED}, "succeeded", "true"),
        ({"reason": Reason.FAILED}, "failed", "true"),
        ({"reason": Reason.NODE_LOST}, "node_lost", "false"),
        ({"reason": Reason.START_FAILED}, "start_failed", "false"),
        ({"reason": Reason.TURN_OVER, "left": Left.SAVED}, "turn_over", "true"),
        ({"reason": Reason.TURN_OVER, "left": Left.UNKNOWN}, "turn_over", "true"),
        ({"reason": Reason.TURN_OVER, "left": Left.ENDED}, "turn_over", "false"),
    ],
)
def test_a_run_ends_with_its_reason_and_clean_or_not(fields: dict[str, Any], reason: str, clean: str) -> None:
    ended = with_run(TaskState.SUSPENDED, ended_at=at(50), **fields)
    assert sums(counted(with_run(), ended)) == {(RUNS_ENDED.name, ("training", reason, clean)): 1}
    assert sums(counted(ended, ended)) == {}, "it has ended before"


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({"left": Left.SAVED, "reason": Reason.TURN_OVER}, "saved"),
        ({"left": Left.ENDED, "reason": Reason.TURN_OVER}, "ended"),
        ({"reason": Reason.SUCCEEDED}, "finished"),
        ({"reason": Reason.FAILED}, "failed"),
    ],
)
def test_a_notice_counts_from_when_it_was_given_until_the_run_is_gone(fields: dict[str, Any], outcome: str) -> None:
    told = {"notice": a_notice(at=at(20))}
    ended = with_run(TaskState.SUSPENDED, ended_at=at(50), **told, **fields)
    found = sums(counted(with_run(TaskState.SUSPENDING, **told), ended))
    assert found[NOTICE.name, (Profile.AUTO.value, outcome)] == 30


def lost(run: Run, before: Run | None = None, nodes: Nodes | None = None) -> float:
    old = a_task(state=TaskState.RUNNING, run=before or a_run(started_at=at(0), running_at=at(4)))
    return lost_node_seconds(old, a_task(state=TaskState.SUSPENDED, run=run), nodes or nodes_of())


def test_lost_time_lies_between_the_last_checkpoint_and_the_notice_on_all_nodes() -> None:
    ranks = (a_rank(0), a_rank(1))
    # It had saved at 30, was told at 50, and was ended at 80 without saving: 50 s on two nodes by the rule, 30 s of
    # them in the notice, which is overhead.
    run = a_run(
        ranks=ranks, started_at=at(0), running_at=at(4), ended_at=at(80), notice=a_notice(at=at(50)),
        lost=timedelta(seconds=2 * 50), reason=Reason.TURN_OVER, left=Left.ENDED,
    )  # fmt: skip
    assert lost(run) == 2 * 20
    broken = a_run(ranks=ranks, started_at=at(0), running_at=at(4), ended_at=at(80), lost=timedelta(seconds=2 * 50))
    assert lost(broken) == 2 * 50
    assert lost(broken, before=broken) == 0, "it was counted before"


def test_nothing_is_lost_by_a_run_that_saved_in_its_notice_or_is_not_resumed() -> None:
    ends = {"started_at": at(0), "running_at": at(4), "ended_at": at(80)}
    assert lost(a_run(**ends, notice=a_notice(at=at(50)), lost=timedelta(seconds=10))) == 0
    assert lost(a_run(**ends, lost=None)) == 0
    assert lost(a_run(**{**ends, "running_at": None}, lost=timedelta(0))) == 0


def test_a_rank_on_a_part_of_a_node_loses_a_part_of_its_seconds() -> None:
    run = a_run(
        ranks=(a_rank(0, gpus=(0, 1)),), started_at=at(0), running_at=at(4), ended_at=at(44), lost=timedelta(seconds=40)
    )
    assert lost(run) == 10
