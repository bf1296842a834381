"""Turns that end whether or not a task waits: time limits, pauses, nodes that are being drained."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from hai_scheduler.core.model.decisions import Stop, Suspend
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.core.ordering.turns import Turn


def forced_exits(
    turns: Iterable[Turn], snapshot: Snapshot, draining: Collection[str]
) -> Iterator[tuple[Turn, Stop | Suspend]]:
    """Yield the turns that end now, each with the decision that ends it; `draining` are nodes that are drained."""
    for turn in turns:
        if _overtime(turn, snapshot) and turn.task.state is not TaskState.STOPPING:
            yield turn, Stop(task_id=turn.task.id, reason=Reason.TIME_LIMIT)
        elif snapshot.paused and _stays_too_long(turn.run, snapshot):
            yield turn, Suspend(task_id=turn.task.id, reason=Reason.PAUSED)
        elif draining and not turn.leaving and not set(turn.nodes).isdisjoint(draining):
            yield turn, Suspend(task_id=turn.task.id, reason=Reason.DRAINED)


def _overtime(turn: Turn, snapshot: Snapshot) -> bool:
    return turn.ends_at is not None and turn.run.running_at is not None and turn.ends_at <= snapshot.now


def _stays_too_long(run: Run, snapshot: Snapshot) -> bool:
    """Whether a pause has to give the run a notice, or an earlier deadline."""
    if run.notice is None:
        return True
    grace = snapshot.pause_grace
    return grace is not None and run.notice.deadline > snapshot.now + grace
