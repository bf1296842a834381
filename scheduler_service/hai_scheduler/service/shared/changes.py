"""The only way to change a task: advance it, save it, write its history and what its owner is told of it.

Effects follow after the commit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hai_scheduler.core.lifecycle.events import Event
from hai_scheduler.core.lifecycle.run_outcome import doubt
from hai_scheduler.core.lifecycle.transitions import Effect, advance
from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task
from hai_scheduler.ports.store import Tx
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.sentences.catalogue import ENGLISH
from hai_scheduler.sentences.messages import failures_of
from hai_scheduler.sentences.words import when
from hai_scheduler.service.shared.booking import Booking, book, booking_of
from hai_scheduler.service.shared.outbox import write_notifications

#: The name of the loop as an actor in the history.
SCHEDULER = "scheduler"
#: Ranks that an event names at most.
MOST_RANKS = 100


async def change(
    tx: Tx, task: Task, *events: Event, actor: str, later: list[Booking] | None = None
) -> tuple[Task, tuple[Effect, ...]]:
    """Apply the events to the task in order, and write the new task, its history, its notifications and its run.

    Args:
        tx: The transaction.
        task: The task as it was read.
        events: What has happened.
        actor: Who has caused it.
        later: Gets what is to be written into the ledger, if the caller writes it by itself, together with that of
            other tasks (`book`). None: it is written here.

    Returns:
        The saved task, and the effects to carry out after the commit.

    Raises:
        InvalidTransition: An event is not possible in the task's state.
        WriteConflict: The stored task has changed since it was read.
    """
    before = task
    effects: list[Effect] = []
    for event in events:
        task, wanted = advance(task, event)
        effects += wanted
    if task == before:
        return task, tuple(effects)
    saved = await tx.tasks.save(task)
    at = events[-1].at
    await tx.events.add_all(
        HistoryEvent(at=at, kind=kind, actor=actor, user=task.user, task_id=task.id, data=data)
        for kind, data in _lines(before, saved)
    )
    await write_notifications(tx, before, saved, actor=actor, at=at)
    if (booking := booking_of(before, saved)) is not None:
        if later is None:
            await book(tx, [booking], until=at)
        else:
            later.append(booking)
    return saved, tuple(effects)


def _retry_data(before: Task, after: Task, run: Run) -> dict[str, Any]:
    """The retry facts for the history when the command of a task with a retry policy has failed (H2); else empty."""
    retry = after.retry
    if retry is None or run.reason is not Reason.FAILED or run.ended_at is None:
        return {}
    failed = f"Its command failed ({failures_of(ENGLISH, run)})"
    if after.retries > before.retries and after.not_before is not None:
        wait = after.not_before - run.ended_at
        until = f"until {when(ENGLISH, after.not_before, run.ended_at)}" if wait else "for its turn"
        return {
            "message": f"{failed}; retry {after.retries} of {retry.count} waits {until}.",
            "retry": after.retries,
            "retries": retry.count,
            "not_before": after.not_before.isoformat(),
        }
    why = f"all {retry.count} retries are used" if after.retries >= retry.count else "no status that is retried"
    return {"message": f"{failed}; {why}, so the task has failed.", "retry": after.retries, "retries": retry.count}


def _message(run: Run) -> str | None:
    """How its ranks failed, or else what the cluster says of them."""
    if run.reason is Reason.FAILED and (failed := failures_of(ENGLISH, run)):
        return failed
    return next((rank.message for rank in run.ranks if rank.message), None)


def _lines(before: Task, after: Task) -> list[tuple[str, Mapping[str, Any]]]:
    """The lines of history for the change: (kind, data) of each."""
    lines: list[tuple[str, Mapping[str, Any]]] = []
    data: dict[str, Any]
    run = after.run
    if run and run.notice and (before.run is None or before.run.notice != run.notice):
        lines.append(
            (
                EventKind.RUN_NOTICE,
                {
                    "run": run.number,
                    "reason": run.notice.reason.value,
                    "deadline": run.notice.deadline.isoformat(),
                    "beneficiary": run.notice.beneficiary,
                    "revision": run.notice.revision,
                },
            )
        )
    known = before.checkpoint
    if after.checkpoint != known and after.checkpoint and (known is None or after.checkpoint.at >= known.at):
        lines.append((EventKind.TASK_CHECKPOINT, {"run": run.number if run else None, "step": after.checkpoint.step}))
    if after.held != before.held:
        lines.append((EventKind.TASK_HELD, {"held": after.held}))
    idle = None if run is None else run.idle_gpus_since
    if run and run.live and idle != (None if before.live_run is None else before.live_run.idle_gpus_since):
        ranks = [rank.rank for rank in run.ranks if rank.idle_gpus_since is not None]
        data = {"run": run.number, "since": None if idle is None else idle.isoformat(), "ranks": ranks[:MOST_RANKS]}
        lines.append((EventKind.TASK_GPUS_IDLE, data))
    if after.state is not before.state:
        data = {
            "from": before.state.value,
            "to": after.state.value,
            "run": run.number if run else None,
            "reason": after.reason.value if after.reason else None,
        }
        if run and not run.live:
            data["left"] = None if run.left is None else run.left.value
            data["lost_s"] = None if run.lost is None else run.lost.total_seconds() / max(1, len(run.ranks))
            data["unsaved"] = after.unsaved
            data["message"] = _message(run) or doubt(after, run)
            data |= _retry_data(before, after, run)
        if run and run.live:
            data["nodes"] = list(run.nodes)
            if after.gpus is not None:
                data["gpus"] = [list(rank.gpus) for rank in run.ranks]
        lines.append((EventKind.TASK_STATE, data))
    return lines
