"""The waiting tasks of one node group, in order (rules O1 to O3, Q4)."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import NamedTuple

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.order import SubmissionKey
from hai_scheduler.core.ordering.task_buckets import (
    SUBMISSION_KEY,
    BucketKey,
    RequestShape,
    TaskBucket,
    reassigned_keys,
)

#: How many tasks of one precedence and use are taken one by one from the heads of their lists; the rest is sorted at
#: once.
FEW = 64

_KEY = itemgetter(0)


class QueueEntry(NamedTuple):
    """A waiting task with its sort key: of two entries of one priority the smaller goes first (O2, O3)."""

    precedence: float
    #: Decayed use of the task's user.
    use: float
    #: The seat: the task's own, or the one that its user has given to it.
    submitted_at: datetime
    seat_id: TaskId
    task: Task


@dataclass(frozen=True, slots=True)
class Unplaceable:
    """The tasks that cannot be served in this walk any more."""

    #: Sizes that were refused for all tasks without promised nodes.
    shapes: AbstractSet[RequestShape]
    task: Callable[[Task], bool]
    #: What `task` returns for all tasks of a user and size without promised nodes; None if it depends on the task.
    every: Callable[[str, RequestShape], bool | None] = lambda _user, _size: None
    #: Makes a test for the tasks for which `every` returns None; its answers stay those of the moment when it was made.
    lasting: Callable[[], Callable[[Task], bool]] | None = None


class Subqueue:
    """The tasks that wait at one priority. Most are never examined, so they are sorted only as far as needed."""

    def __init__(self, buckets: Mapping[BucketKey, TaskBucket], use: Mapping[str, float]) -> None:
        """Begin with the tasks of `buckets`; `add` brings the others. `use` is the decayed use of the users (O3)."""
        self.use = use
        self._buckets = buckets
        #: AUTO tasks, and tasks that have been promised nodes, avoid nodes, or fell from a higher priority.
        self._added: defaultdict[BucketKey, list[TaskBucket]] = defaultdict(list)
        #: Ids of the added tasks that came in one by one.
        self._alone: set[TaskId] = set()
        #: A heap of precedence, use and user that the walk has not reached; the tasks left of those that it has
        #: reached.
        self._heap: list[tuple[float, float, str]] = []
        self._begun: Iterator[QueueEntry] = iter(())
        #: Tasks that were moved to another subqueue, and their precedences.
        self.gone: dict[TaskId, tuple[Task, float]] = {}
        #: AUTO tasks in the subqueue (Q4), and tasks with promised nodes (B3).
        self.auto: list[TaskBucket] = []
        self._promised: list[Task] = []
        #: The sizes of the tasks.
        self.shapes: set[RequestShape] = set().union(*[bucket.by_shape for bucket in buckets.values()])
        #: How many tasks with promised nodes have not been examined (B3).
        self.promised = 0

    def add(self, bucket: TaskBucket, precedence: float) -> None:
        """Add tasks, before any task is taken out."""
        user, asked = bucket.order_scope
        self._added[precedence, user].append(bucket)
        self.shapes |= bucket.by_shape.keys()
        if len(bucket) == 1:
            self._alone.add(bucket.first.id)
        if asked is None:
            self.auto.append(bucket)
        if bucket.promised:
            self._promised += [task for task in bucket.tasks() if task.promise]

    def begin(self) -> None:
        """Begin, or begin again, at the first task; all tasks have been added."""
        self._begun = iter(())
        self._heap = [(precedence, self.use[user], user) for precedence, user in self.bucket_keys()]
        heapq.heapify(self._heap)
        self.promised = sum(task.id not in self.gone for task in self._promised)

    def pop(self, unplaceable: Unplaceable) -> QueueEntry | None:
        """Return the next task in order; None when all tasks that are not hopeless have been returned."""
        while True:
            for entry in self._begun:
                if entry.task.id not in self.gone:
                    self.promised -= bool(entry.task.promise)
                    return entry
            if not self._heap:
                return None
            precedence, _, user = self._heap[0]
            if self._is_over((precedence, user), unplaceable.shapes):
                heapq.heappop(self._heap)
            else:
                self._begun = self._next(self._heap, unplaceable)

    def _is_over(self, bucket_key: BucketKey, refused: AbstractSet[RequestShape]) -> bool:
        return all(bucket.is_over(refused) for bucket in self.buckets_at(bucket_key))

    def _next(self, heap: list[tuple[float, float, str]], unplaceable: Unplaceable) -> Iterator[QueueEntry]:
        """Return the tasks of the next precedence, and of the next user or users with equal use, in order."""
        precedence, use, user = heapq.heappop(heap)
        bucket_keys = [(precedence, user)]
        while heap and heap[0][1] == use and heap[0][0] == precedence:
            bucket_keys.append((precedence, heapq.heappop(heap)[2]))
        left = _left([bucket for bucket_key in bucket_keys for bucket in self.buckets_at(bucket_key)], unplaceable)
        return (QueueEntry(precedence, use, *key, task) for key, task in _merged(left))

    def remove(self, task: Task, precedence: float) -> None:
        """Remove the task, which has that precedence in this subqueue; it waits in another subqueue from now on."""
        self.gone[task.id] = task, precedence

    def holds(self, task: Task, precedence: float) -> bool:
        """Whether the task, which has that precedence, waits in this subqueue."""
        if task.id in self.gone:
            return False
        if task.id in self._alone:
            return True
        bucket_key = precedence, task.user
        bucket, added = self._buckets.get(bucket_key), self._added.get(bucket_key)
        if bucket is not None and task in bucket:
            return True
        return added is not None and any(task in bucket for bucket in added)

    def is_gone(self, task: Task) -> bool:
        """Whether the task was removed."""
        return task.id in self.gone

    def precedences(self) -> set[float]:
        """Return the precedences of all tasks."""
        return {precedence for precedence, _ in self._buckets} | {precedence for precedence, _ in self._added}

    def bucket_keys(self) -> list[BucketKey]:
        """Return each pair of precedence and user that has tasks, in no order."""
        return [*self._buckets, *(bucket_key for bucket_key in self._added if bucket_key not in self._buckets)]

    def buckets_at(self, bucket_key: BucketKey) -> Sequence[TaskBucket]:
        """Return the user's tasks of that precedence, with those that were removed."""
        bucket, added = self._buckets.get(bucket_key), self._added.get(bucket_key, ())
        return added if bucket is None else (bucket, *added)


@dataclass(frozen=True, slots=True)
class _List:
    """Tasks in the order of their seats; some may be hopeless."""

    tasks: Sequence[Task]
    key: Callable[[Task], SubmissionKey] = SUBMISSION_KEY
    unplaceable: Callable[[Task], bool] | None = None

    def rest(self, begin: int) -> Iterable[tuple[SubmissionKey, Task]]:
        """Yield the tasks from an index on that are not hopeless, with their seats."""
        for place in range(begin, len(self.tasks)):
            task = self.tasks[place]
            if self.unplaceable is None or not self.unplaceable(task):
                yield self.key(task), task


def _left(buckets: Sequence[TaskBucket], unplaceable: Unplaceable) -> list[_List]:
    """Return the tasks that are not hopeless now, in lists by seat: their own seats, or those from their user (O3)."""
    dealt = reassigned_keys(buckets)
    lists, own = [], []
    for bucket in buckets:
        found = _with_hope(bucket, unplaceable)
        if dealt and bucket.first.id in dealt:
            own += [task for each in found for _, task in each.rest(0)]
        else:
            lists += found
    return [*lists, _List(sorted(own, key=lambda task: dealt[task.id]), lambda task: dealt[task.id])]


def _with_hope(bucket: TaskBucket, unplaceable: Unplaceable) -> list[_List]:
    if bucket.promised:
        return [_List(sorted((task for task in bucket.tasks() if not unplaceable.task(task)), key=SUBMISSION_KEY))]
    lists = []
    for shape, tasks in bucket.by_shape.items():
        over = shape in unplaceable.shapes or unplaceable.every(bucket.order_scope.user, shape)
        if over is None:
            lists.append(_List(tasks, unplaceable=unplaceable.lasting() if unplaceable.lasting else unplaceable.task))
        elif not over:
            lists.append(_List(tasks))
    return lists


def _merged(lists: Sequence[_List]) -> Iterator[tuple[SubmissionKey, Task]]:
    """Yield the tasks of all lists in order: `FEW` from the heads of the lists, then the rest, sorted at once."""
    heads = [(each.key(each.tasks[0]), number, 0) for number, each in enumerate(lists) if each.tasks]
    heapq.heapify(heads)
    for _ in range(FEW):
        if not heads:
            return
        key, number, place = heads[0]
        tasks, unplaceable = lists[number].tasks, lists[number].unplaceable
        if unplaceable is None or not unplaceable(tasks[place]):
            yield key, tasks[place]
        if place + 1 < len(tasks):
            heapq.heapreplace(heads, (lists[number].key(tasks[place + 1]), number, place + 1))
        else:
            heapq.heappop(heads)
    rest = [entry for _, number, place in heads for entry in lists[number].rest(place)]
    rest.sort(key=_KEY)
    yield from rest
