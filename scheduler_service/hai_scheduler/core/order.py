"""Who goes first among the waiting (rules O1 and O3 in their plain form)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from hai_scheduler.core.model import Priority, Task, TaskId

#: Smaller goes first. Keys: level, highest first (O1); place; id, which makes the order total.
QueueKey = tuple[int, datetime, TaskId]


def places(tasks: Iterable[Task]) -> dict[TaskId, tuple[datetime, TaskId]]:
    """Where each waiting task stands among the tasks of its level.

    A task's place is its own: the first submission, or the end of its last full turn. A user's own order
    (`custom_rank`) deals out the places that his tasks of one group and one asked-for level have among
    themselves, so that moving a task never moves anybody else's.
    """
    hands: defaultdict[tuple[str, str, Priority | None], list[Task]] = defaultdict(list)
    for task in tasks:
        hands[task.user, task.group, task.priority].append(task)
    dealt: dict[TaskId, tuple[datetime, TaskId]] = {}
    for hand in hands.values():
        seats = sorted((task.place, task.id) for task in hand)
        if any(task.custom_rank is not None for task in hand):
            hand = sorted(hand, key=_own_order)
        else:
            hand = sorted(hand, key=lambda task: (task.place, task.id))
        dealt.update((task.id, seat) for task, seat in zip(hand, seats, strict=True))
    return dealt


def _own_order(task: Task) -> tuple[float, datetime, TaskId]:
    rank = float("inf") if task.custom_rank is None else task.custom_rank
    return rank, task.place, task.id


def queue_key(priority: Priority, seat: tuple[datetime, TaskId]) -> QueueKey:
    """The key of a waiting task at that effective priority."""
    return -priority, seat[0], seat[1]
