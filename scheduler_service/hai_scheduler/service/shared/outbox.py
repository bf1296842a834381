"""Writes the notifications of a change into the transaction of that change. `service.notifying` sends them later."""

from __future__ import annotations

from datetime import datetime

from hai_scheduler.core.model.task import Task
from hai_scheduler.core.notifying.occurrences import of_change
from hai_scheduler.core.notifying.values import NotificationRules
from hai_scheduler.ports.store import Tx


async def rules_for(tx: Tx, user: str) -> NotificationRules:
    """Return the rules of a user; the default ones if they have written none."""
    return (await tx.notifications.rules()).get(user) or NotificationRules(user=user)


async def write_notifications(tx: Tx, before: Task, after: Task, *, actor: str, at: datetime) -> None:
    """Write the notifications that follow from a change of a task.

    Args:
        tx: The transaction of the change.
        before: The task as it was.
        after: The task as it is saved.
        actor: Who has caused the change.
        at: When.
    """
    run, earlier = after.run, before.run
    if after.state is before.state and (run is None or earlier is None or run.notice is earlier.notice):
        # Most changes: nobody is told of them, and the rules need not be read.
        return
    told = of_change(before, after, await rules_for(tx, after.user), actor=actor, at=at)
    if told:
        await tx.notifications.add_all(told)
