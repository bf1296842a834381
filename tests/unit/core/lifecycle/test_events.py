"""What the events of a task say of the nodes of a start that failed (H3)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hai_scheduler.core.lifecycle.events import AskedToStop, AskedToSuspend, Saving, StartFailed, TimeSkipped
from hai_scheduler.core.lifecycle.transitions import advance
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Blame, Rank
from hai_scheduler.core.model.task import Task, TaskState
from kit.builders import a_notice, a_run, a_task, at

NODES = ("bad", "doubtful", "good")


def failed(**fields: object) -> StartFailed:
    return StartFailed(at=at(5), message="no image", give_up=False, **fields)  # type: ignore[arg-type]


def after(event: StartFailed) -> Task:
    ranks = tuple(Rank(rank=number, node=name) for number, name in enumerate(NODES))
    task = a_task(state=TaskState.STARTING, nodes=3, run=a_run(ranks=ranks, running_at=None))
    return advance(task, event)[0]


@pytest.mark.parametrize(
    ("node", "blame"), [("bad", Blame.NODE), ("doubtful", Blame.UNKNOWN), ("good", Blame.NOBODY), ("c", Blame.NOBODY)]
)
def test_a_node_is_to_blame_as_the_event_says(node: str, blame: Blame) -> None:
    assert failed(nodes=frozenset({"bad"}), doubtful=frozenset({"doubtful"})).blame_of(node) is blame


def test_the_ranks_on_nodes_that_may_be_to_blame_keep_the_message_and_the_task_avoids_these_nodes() -> None:
    task = after(failed(nodes=frozenset({"bad"}), doubtful=frozenset({"doubtful"})))
    assert task.run is not None
    assert [rank.unstarted for rank in task.run.ranks] == [Blame.NODE, Blame.UNKNOWN, None]
    assert [rank.message for rank in task.run.ranks] == ["no image", "no image", None]
    assert task.avoid == {"bad", "doubtful"}


def test_where_no_node_is_to_blame_the_first_rank_keeps_the_message_and_no_node_is_avoided() -> None:
    task = after(failed(nodes=frozenset()))
    assert task.run is not None
    assert [rank.unstarted for rank in task.run.ranks] == [Blame.NOBODY, None, None]
    assert [rank.message for rank in task.run.ranks] == ["no image", None, None]
    assert task.avoid == frozenset()


@pytest.mark.parametrize(
    ("state", "give_up", "after_it"),
    [
        (TaskState.STARTING, False, TaskState.SUSPENDED),
        (TaskState.SUSPENDING, False, TaskState.SUSPENDED),
        (TaskState.STARTING, True, TaskState.FAILED),
        (TaskState.STOPPING, False, TaskState.STOPPED),
        (TaskState.STOPPING, True, TaskState.STOPPED),
    ],
    ids=lambda value: str(value),
)
def test_a_task_whose_start_failed_waits_again_or_has_ended(
    state: TaskState, give_up: bool, after_it: TaskState
) -> None:
    notice = a_notice() if state in {TaskState.SUSPENDING, TaskState.STOPPING} else None
    task = a_task(state=state, run=a_run(running_at=None, notice=notice))
    task, effects = advance(task, StartFailed(at=at(5), message="", nodes=frozenset(), give_up=give_up))
    ended = after_it is not TaskState.SUSPENDED
    assert (task.state, task.ended_at, effects) == (after_it, at(5) if ended else None, ())
    assert (task.not_before is None) == ended, "who waits again does so for a while"
    assert task.failed_starts == 1


def test_each_change_of_a_notice_has_the_next_revision() -> None:
    """Supervisors ask for a notice that is newer than the one they know."""
    task = a_task(state=TaskState.RUNNING)
    events = (
        AskedToSuspend(at=at(1), reason=Reason.TURN_OVER),
        Saving(at=at(2), seconds=600),
        Saving(at=at(3), seconds=1),
        AskedToSuspend(at=at(4), reason=Reason.EVICTED, at_most=timedelta(seconds=1)),
        TimeSkipped(at=at(5), by=timedelta(seconds=1)),
        AskedToStop(at=at(6), reason=Reason.USER_STOPPED),
    )
    revisions = []
    for event in events:
        task, _ = advance(task, event)
        assert task.run is not None
        assert task.run.notice is not None
        revisions.append(task.run.notice.revision)
    assert revisions == [1, 2, 2, 3, 4, 5]
