"""Checks a task against its user's quota before it is stored (Q5)."""

from __future__ import annotations

import shlex
from datetime import datetime

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.quota import Cap, QuotaTable
from hai_scheduler.core.ordering.usage import share_of
from hai_scheduler.ports.store import Tx
from hai_scheduler.sentences.catalogue import ENGLISH
from hai_scheduler.sentences.words import gang, nodes, quota_of
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import QuotaExceeded


async def book_for(tx: Tx, caller: Caller, now: datetime) -> QuotaTable:
    """The quota in force, with the groups of the caller's token; without any there, the stored groups count."""
    groups_of = {user.name: user.groups for user in await tx.users.all()}
    if caller.groups:
        groups_of[caller.name] = caller.groups
    return QuotaTable(await tx.quotas.all(), groups_of, now)


def check_cap(quota_table: QuotaTable, task: Task, priority: Priority | None, gpus_per_node: int) -> None:
    """Refuse a task that is larger than every cap of its user (Q5). Raises QuotaExceeded.

    Args:
        quota_table: The quota in force.
        task: The task.
        priority: The level that the task asks for; None is AUTO.
        gpus_per_node: GPUs of the largest node of the task's node group.
    """
    level, cap = quota_table.largest(task.user, task.group, priority)
    if not cap.allows(share_of(task, gpus_per_node)):
        raise QuotaExceeded(_too_large(task, priority, level, cap))


def _too_large(task: Task, asked: Priority | None, level: Priority, cap: Cap) -> str:
    """The message: why the quota never allows the task, and what to do; `asked` None is AUTO."""
    given = Priority.NORMAL if asked is None and cap.source == "none" else level
    subject = shlex.quote(f"user:{task.user}")
    remedy = f"`hai admin quota set {subject} {given.name} {task.nodes} --group {shlex.quote(task.group)}`"
    if cap.source == "none":
        where = "at any priority" if asked is None else f"at {level.name}"
        other = "" if asked is None else "choose a priority that `hai quota` shows, or "
        return (
            f"priority: there is no quota for you {where} in group {task.group!r}: {other}ask an admin for some, "
            f"who gives it with {remedy}."
        )
    return (
        f"nodes: {gang(ENGLISH, task.nodes, task.gpus)} is more than the {nodes(ENGLISH, cap.limit or 0)} that "
        f"{quota_of(ENGLISH, cap.source)} "
        f"allows at {level.name} in group {task.group!r}: ask for fewer, choose another priority, or ask an admin for "
        f"more, who gives it with {remedy}."
    )
