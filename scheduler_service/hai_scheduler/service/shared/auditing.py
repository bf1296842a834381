"""Writes the audit: who changed what, in the transaction that makes the change."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from hai_scheduler.core.model.admin_actions import AdminAction
from hai_scheduler.core.model.task import Task
from hai_scheduler.ports.values import AuditEntry
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.store.transaction import Tx

#: The most characters of JSON that an entry keeps of a thing, and of one field of a thing that is larger.
MOST: Final = 4000
MOST_OF_A_FIELD: Final = 300
#: The most characters of a subject.
_SUBJECT: Final = 300

Facts = Mapping[str, Any]


async def audit(
    tx: Tx,
    caller: Caller,
    action: AdminAction,
    subject: str,
    *,
    at: datetime,
    before: Facts | None = None,
    after: Facts | None = None,
) -> None:
    """Write an entry of the audit; it is committed with the change, or not at all.

    Args:
        tx: The transaction of the change.
        caller: Who makes it.
        action: What is done.
        subject: What it is done to: its kind, a colon and its name.
        at: The time.
        before: What was there, as JSON values without secrets; None: nothing was.
        after: What is there now; None: nothing is.
    """
    await tx.audit.add(
        AuditEntry(
            at=at,
            actor=caller.name,
            action=action,
            subject=subject[:_SUBJECT],
            before=bounded(before),
            after=bounded(after),
            address=caller.address,
        )
    )


async def audit_task(
    tx: Tx,
    caller: Caller,
    action: AdminAction,
    task: Task,
    *,
    at: datetime,
    before: Facts | None = None,
    after: Facts | None = None,
) -> None:
    """Write what an admin does to a task of another user; what users do to their own is not in the audit.

    The arguments are those of `audit`; the task's user and name are added to `after`.
    """
    if task.user != caller.name:
        after = {"user": task.user, "name": task.name, **(after or {})}
        await audit(tx, caller, action, f"task:{task.id}", at=at, before=before or None, after=after)


def bounded(facts: Facts | None) -> Facts | None:
    """Return the facts so that an entry stays small: of large ones each long field is only named by its length."""
    if facts is None or _length(facts) <= MOST:
        return facts
    kept: dict[str, Any] = {}
    room = MOST
    for name, value in facts.items():
        size = _length(value)
        shown = value if size <= MOST_OF_A_FIELD else f"({size} characters)"
        room -= len(name) + _length(shown)
        if room < 0:
            kept["..."] = f"({len(facts) - len(kept)} more fields)"
            break
        kept[name] = shown
    return kept


def _length(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, default=str))
