"""The one way in which a task changes: advance, save, write history. Effects are carried out after the commit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hai_scheduler.core.events import Event
from hai_scheduler.core.lifecycle import Effect, advance
from hai_scheduler.core.model import Task
from hai_scheduler.ports import Event as Line
from hai_scheduler.ports import Tx

#: Who the loop is in the history.
SCHEDULER = "scheduler"


async def change(tx: Tx, task: Task, *events: Event, actor: str) -> tuple[Task, tuple[Effect, ...]]:
    """Let the events happen to the task, one after the other, and write the result and its history.

    Raises InvalidTransition, and Conflict if the task was changed meanwhile.
    """
    before = task
    effects: list[Effect] = []
    for event in events:
        task, wanted = advance(task, event)
        effects += wanted
    if task == before:
        return task, tuple(effects)
    saved = await tx.save_task(task)
    for kind, data in _lines(before, saved):
        await tx.add_event(Line(at=events[-1].at, kind=kind, actor=actor, user=task.user, task_id=task.id, data=data))
    return saved, tuple(effects)


def _lines(before: Task, after: Task) -> list[tuple[str, Mapping[str, Any]]]:
    """What is worth a line of history."""
    lines: list[tuple[str, Mapping[str, Any]]] = []
    run = after.run
    if run and run.notice and (before.run is None or before.run.notice != run.notice):
        lines.append(
            (
                "run.notice",
                {
                    "run": run.number,
                    "reason": run.notice.reason.value,
                    "deadline": run.notice.deadline.isoformat(),
                    "beneficiary": run.notice.beneficiary,
                    "revision": run.notice.revision,
                },
            )
        )
    if after.checkpoint != before.checkpoint and after.checkpoint:
        lines.append(("task.checkpoint", {"run": run.number if run else None, "step": after.checkpoint.step}))
    if after.held != before.held:
        lines.append(("task.held", {"held": after.held}))
    if after.state is not before.state:
        data: dict[str, Any] = {
            "from": before.state.value,
            "to": after.state.value,
            "run": run.number if run else None,
            "reason": after.reason.value if after.reason else None,
        }
        if run and not run.live:
            data["clean"] = run.clean
            data["message"] = next((rank.message for rank in run.ranks if rank.message), None)
        if run and run.live:
            data["nodes"] = list(run.nodes)
        lines.append(("task.state", data))
    return lines
