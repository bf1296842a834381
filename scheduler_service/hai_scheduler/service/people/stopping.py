"""Tells tasks of archived users to stop, some at a time, so that other writers do not wait long."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from hai_scheduler.core.lifecycle.events import AskedToStop
from hai_scheduler.core.lifecycle.transitions import Effect
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.ports.store import Store, Tx
from hai_scheduler.service.shared.changes import SCHEDULER, change
from hai_scheduler.service.shared.policy_store import PolicyStore

#: Tasks that are told to stop in one transaction.
BATCH: Final = 100


async def stop_some(
    store: Store, policies: PolicyStore, *, now: datetime, actor: str = SCHEDULER
) -> tuple[int, list[Effect]]:
    """Tell at most `BATCH` tasks of archived users to stop; returns how many, and the effects to carry out.

    The housekeeping calls it too: an admin's process may have ended in between, and a task may have been submitted at
    the moment when its user was archived.
    """
    effects: list[Effect] = []
    async with store.read() as tx:
        wanted = await _theirs(tx)
    if not wanted:
        return 0, effects
    async with store.write() as tx:
        wanted = await _theirs(tx)
        for task in wanted:
            event = AskedToStop(at=now, reason=Reason.OWNER_ARCHIVED, limit=policies.of(task.group).max_grace)
            _, more = await change(tx, task, event, actor=actor)
            effects += more
    return len(wanted), effects


async def _theirs(tx: Tx) -> list[Task]:
    """The first tasks of archived users that have not been told to stop."""
    archived = await tx.users.archived()
    if not archived:
        return []
    unfinished = await tx.tasks.unfinished()
    found = [task for task in unfinished if task.user in archived and task.state is not TaskState.STOPPING]
    return found[:BATCH]
