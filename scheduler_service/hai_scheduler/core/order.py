"""Who goes first among the waiting (rules O1, O2, O3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta

from hai_scheduler.core.model import Task, TaskId, Use
from hai_scheduler.core.policy import Policy
from hai_scheduler.core.use import decayed, held, share_of

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


class UserUse:
    """Decayed use of the users of a node group, divided by their weights (O3). Found when it is asked for."""

    def __init__(
        self, uses: Iterable[Use], running: Iterable[Task], policy: Policy, now: datetime, gpus_per_node: int
    ) -> None:
        """`uses` are those of the group; `running` its tasks with a live run, by id, which count up to now."""
        self._policy = policy
        self._now = now
        self._gpus = gpus_per_node
        self._ended = {use.user: use for use in uses}
        self._running: defaultdict[str, list[Task]] = defaultdict(list)
        for task in running:
            self._running[task.user].append(task)

    def of(self, user: str) -> float:
        """Node seconds; 0 for a user who has held nothing lately."""
        half, now = self._policy.half_life, self._now
        ended = self._ended.get(user)
        seconds = decayed(ended, now, half) if ended is not None else 0.0
        for task in self._running.get(user, ()):
            if task.run is not None:
                seconds += share_of(task, self._gpus) * held(task.run.started_at, now, now, half)
        return seconds / self._policy.weights.get(user, 1.0)
