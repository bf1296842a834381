"""Converts rows of quota, use and strikes into values and back."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import NodeCondition, NodeMark, Strike
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota, Usage
from hai_scheduler.store.rows import of_instant, of_instant_or_none, to_instant, to_instant_or_none


def quota_values(quota: Quota) -> dict[str, Any]:
    """Return all columns of a row of quota."""
    return {
        "subject": quota.subject,
        "group_name": quota.group,
        "priority": quota.priority.value,
        "node_limit": quota.limit,
        "ceiling": quota.ceiling,
        "expires_at": to_instant_or_none(quota.expires_at),
    }


def quota_of(row: Row[Any]) -> Quota:
    """Return the quota of a row of `tables.QUOTAS`."""
    return Quota(
        subject=row.subject,
        group=row.group_name,
        priority=Priority(row.priority),
        limit=row.node_limit,
        ceiling=row.ceiling,
        expires_at=of_instant_or_none(row.expires_at),
    )


def use_values(use: Usage) -> dict[str, Any]:
    """Return all columns of a use."""
    return {
        "user_name": use.user,
        "group_name": use.group,
        "node_seconds": use.node_seconds,
        "at": to_instant(use.at),
    }


def use_of(row: Row[Any]) -> Usage:
    """Return the use of a row of `tables.USES`."""
    return Usage(user=row.user_name, group=row.group_name, node_seconds=row.node_seconds, at=of_instant(row.at))


def strike_values(strike: Strike) -> dict[str, Any]:
    """Return the columns of a strike without its id, which the store gives, and its user, which the task's row has."""
    return {"node": strike.node, "task_id": strike.task_id, "at": to_instant(strike.at)}


def strike_of(row: Row[Any]) -> Strike:
    """Return the strike of a row of `tables.STRIKES` with the `user_name` of its task, None for a deleted task."""
    return Strike(node=row.node, task_id=TaskId(row.task_id), at=of_instant(row.at), user=row.user_name)


def condition_values(condition: NodeCondition) -> dict[str, Any]:
    """Return all columns of the condition of a node."""
    return {
        "node": condition.node,
        "ready": condition.ready,
        "closed": condition.closed,
        "mark": condition.mark.value,
        "since": to_instant(condition.since),
        "changed_by": condition.by,
    }


def condition_of(row: Row[Any]) -> NodeCondition:
    """Return the condition of a row of `tables.NODE_CONDITIONS`."""
    return NodeCondition(
        node=row.node,
        ready=row.ready,
        closed=row.closed,
        mark=NodeMark(row.mark),
        since=of_instant(row.since),
        by=row.changed_by,
    )
