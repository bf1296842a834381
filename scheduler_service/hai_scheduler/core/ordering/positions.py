"""The position of each task in the queue, found without sorting the whole queue (rules O1 to O3)."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.order import SubmissionKey
from hai_scheduler.core.ordering.queue import Subqueue
from hai_scheduler.core.ordering.quota import LEVELS
from hai_scheduler.core.ordering.task_buckets import SUBMISSION_KEY, TaskBucket, reassigned_keys

#: Once this many lists have been searched for each task of one precedence and use, it is cheaper to sort these tasks.
_ENOUGH = 2

#: Rank, and use of the user.
_Among = tuple[float, float]


@dataclass(frozen=True, slots=True)
class QueuePosition:
    """The place of a task in the queue; position from 1."""

    priority: Priority
    precedence: float
    position: int


class Queue:
    """The subqueues by priority, and the place of each task in all subqueues together, at the end of the walk."""

    def __init__(self, subqueues: Mapping[Priority, Subqueue]) -> None:
        self.subqueues = subqueues
        self._ahead: dict[Priority, dict[_Among, _Equals]] = {}
        self._places: dict[TaskId, QueuePosition] = {}
        #: The effective priorities of AUTO tasks; None: not found yet.
        self._auto: dict[TaskId, Priority] | None = None

    def position_of(self, task: Task, precedence: float) -> QueuePosition:
        """Return the place of the task, which has that precedence. Raises KeyError if it is not in the queue."""
        place = self._places.get(task.id)
        if place is None:
            level = self.level_of(task, precedence)
            among = precedence, self.subqueues[level].use[task.user]
            place = self._places[task.id] = QueuePosition(level, precedence, self._equals(level)[among].position(task))
        return place

    def level_of(self, task: Task, precedence: float) -> Priority:
        """Return the effective priority of the task, which has that precedence (Q4).

        Raises KeyError if it is not queued.
        """
        if task.priority is None:
            if self._auto is None:
                self._auto = {each: level for level, subqueue in self.subqueues.items() for each in _auto(subqueue)}
            return self._auto[task.id]
        for level in (task.priority, *LEVELS):
            if self.subqueues[level].holds(task, precedence):
                return level
        raise KeyError(task.id)

    @property
    def length(self) -> int:
        """How many tasks the queue has."""
        return max((equals.after for level in LEVELS for equals in self._equals(level).values()), default=0)

    def in_order(self, after: int = 0) -> Iterator[tuple[int, Task]]:
        """Yield position and task of the queue, first to last, from the position `after` on.

        Only the part that is read is sorted.
        """
        for level in LEVELS:
            for equals in self._equals(level).values():
                if equals.after > after:
                    yield from (each for each in equals.in_order() if each[0] > after)

    def _equals(self, priority: Priority) -> Mapping[_Among, _Equals]:
        """Return the tasks of a priority by precedence and use."""
        if not self._ahead:
            before = 0
            for level in LEVELS:
                self._ahead[level], before = _all_equals(self.subqueues[level], before)
        return self._ahead[priority]


class _Equals:
    """The tasks of one priority and precedence whose users have equal use, in order of their seats."""

    def __init__(self, buckets: Iterable[TaskBucket], gone: Iterable[Task], before: int) -> None:
        """Take the tasks of `buckets` without `gone`, which wait at another priority; `before` tasks go first."""
        self._buckets = list(buckets)
        self._gone = {task.id: task for task in gone}
        self._before = before
        self._all = sum(map(len, self._buckets))
        self._searched = 0
        #: Computed at the first `position`: seats that users have given, seats of `gone`, and lists in order of seats.
        self._dealt: dict[TaskId, SubmissionKey] = {}
        self._left: list[SubmissionKey] = []
        self._lists: list[list[Task]] = []
        self._order: dict[TaskId, int] = {}

    @property
    def after(self) -> int:
        """How many tasks go before the next precedence or use: these tasks and all before them."""
        return self._before + self._all - len(self._gone)

    def position(self, task: Task) -> int:
        """Return the place of the task in the queue, from 1."""
        if not self._lists:
            self._begin()
        if not self._order and self._searched >= _ENOUGH * self._all:
            self._order = {each.id: number for number, each in self.in_order()}
        if self._order:
            return self._order[task.id]
        self._searched += len(self._lists)
        key = self._key(task)
        # Users permute only their own seats, so the number of tasks before a seat is the same as without their order.
        first = sum(bisect_left(tasks, key, key=SUBMISSION_KEY) for tasks in self._lists)
        return self._before + first - bisect_left(self._left, key) + 1

    def in_order(self) -> list[tuple[int, Task]]:
        """Return position and task of these tasks, in order."""
        if not self._lists:
            self._begin()
        everybody = (each for tasks in self._lists for each in tasks if each.id not in self._gone)
        order = sorted(everybody, key=self._key if self._dealt else SUBMISSION_KEY)
        return [(self._before + number, each) for number, each in enumerate(order, 1)]

    def _begin(self) -> None:
        self._dealt = reassigned_keys(self._buckets)
        alone = [bucket.first for bucket in self._buckets if len(bucket) == 1]
        self._lists = [tasks for bucket in self._buckets if len(bucket) > 1 for tasks in bucket.by_shape.values()]
        self._lists.append(sorted(alone, key=SUBMISSION_KEY))
        self._left = sorted(map(self._key, self._gone.values()))

    def _key(self, task: Task) -> SubmissionKey:
        return self._dealt.get(task.id) or (task.submitted_at, task.id)


def _auto(subqueue: Subqueue) -> Iterator[TaskId]:
    """Yield the AUTO tasks that wait in this subqueue."""
    for bucket in subqueue.auto:
        for task in bucket.tasks():
            if task.id not in subqueue.gone:
                yield task.id


def _all_equals(subqueue: Subqueue, before: int) -> tuple[dict[_Among, _Equals], int]:
    """Return the subqueue's tasks by precedence and use, and how many tasks go before the next subqueue.

    `before` is how many tasks go before all of this subqueue.
    """
    buckets: defaultdict[_Among, list[TaskBucket]] = defaultdict(list)
    gone: defaultdict[_Among, list[Task]] = defaultdict(list)
    for precedence, user in subqueue.bucket_keys():
        buckets[precedence, subqueue.use[user]] += subqueue.buckets_at((precedence, user))
    for task, precedence in subqueue.gone.values():
        gone[precedence, subqueue.use[task.user]].append(task)
    found: dict[_Among, _Equals] = {}
    for among, members in sorted(buckets.items(), key=itemgetter(0)):
        found[among] = _Equals(members, gone.get(among, ()), before)
        before = found[among].after
    return found, before
