"""The order of waiting tasks (rules O1, O2, O3)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.task import Task

#: The key that orders the tasks of one user: first submission, then id.
SubmissionKey = tuple[datetime, TaskId]


def level_at(service: timedelta, policy: Policy) -> int:
    """Return the level of the feedback queue after that much service (O2): 0, 1 or 2."""
    if service < policy.slice:
        return 0
    return 1 if service < policy.long_after else 2


def own_order(tasks: Iterable[Task]) -> list[Task]:
    """Return one user's tasks in the order that the user wants: `custom_rank`, then first submission (O3)."""
    return sorted(tasks, key=_own_key)


def _own_key(task: Task) -> tuple[float, datetime, TaskId]:
    rank = float("inf") if task.custom_rank is None else task.custom_rank
    return rank, task.submitted_at, task.id


def submission_keys(order_scopes: Iterable[list[Task]]) -> dict[TaskId, SubmissionKey]:
    """Return the seats of tasks whose users order them themselves (O3).

    A hand is one user's tasks at one priority and level. Its seats are their first submissions; the user's own order
    permutes the tasks among these seats. So the tasks of other users never move.

    Args:
        order_scopes: The hands of users who order their tasks themselves.

    Returns:
        The seat of each task, by its id.
    """
    dealt: dict[TaskId, SubmissionKey] = {}
    for order_scope in order_scopes:
        kept = sorted((task.submitted_at, task.id) for task in order_scope)
        dealt.update((task.id, key) for task, key in zip(own_order(order_scope), kept, strict=True))
    return dealt
