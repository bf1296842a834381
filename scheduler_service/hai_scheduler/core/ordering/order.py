"""Who goes first among the waiting (rules O1, O2, O3)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.task import Task

#: A place among the tasks of one user: first submission, then id.
Seat = tuple[datetime, TaskId]


def level_at(service: timedelta, policy: Policy) -> int:
    """The level of the feedback queue after that much service (O2): 0, 1 or 2."""
    if service < policy.slice:
        return 0
    return 1 if service < policy.long_after else 2


def own_order(tasks: Iterable[Task]) -> list[Task]:
    """One user's tasks in the order that the user wants: `custom_rank`, then first submission (O3)."""
    return sorted(tasks, key=_own_key)


def _own_key(task: Task) -> tuple[float, datetime, TaskId]:
    rank = float("inf") if task.custom_rank is None else task.custom_rank
    return rank, task.submitted_at, task.id


def seats(hands: Iterable[list[Task]]) -> dict[TaskId, Seat]:
    """Seats of tasks whose users order them themselves, a hand being one user's tasks at one priority and level.

    A hand keeps its seats, first submissions all of them, and the user's own order deals them out anew: moving a
    task never moves anybody else's.
    """
    dealt: dict[TaskId, Seat] = {}
    for hand in hands:
        kept = sorted((task.submitted_at, task.id) for task in hand)
        dealt.update((task.id, seat) for task, seat in zip(own_order(hand), kept, strict=True))
    return dealt
