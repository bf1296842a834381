"""Parts of the queue: tasks of one user with the same precedence, kept in order of their seats (rule O3)."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from operator import attrgetter
from typing import NamedTuple

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.order import SubmissionKey, submission_keys

#: A task's own seat: first submission, then id.
SUBMISSION_KEY = attrgetter("submitted_at", "id")
#: Rank and user of the tasks in a bucket. A plain tuple, as each step of a walk makes some.
BucketKey = tuple[float, str]
#: More GPUs than any node has: how a whole node compares with k GPUs of one.
_WHOLE = 1 << 30


class RequestShape(NamedTuple):
    """How many GPUs of a node a task takes, and how many nodes. It is no easier to place if neither is smaller."""

    gpus: int
    nodes: int


class UserOrderScope(NamedTuple):
    """One user's tasks that ask for one priority (None: AUTO); users may order them themselves (O3)."""

    user: str
    asked: Priority | None


def shape_of(task: Task) -> RequestShape:
    """Return the size of a task."""
    return RequestShape(_WHOLE if task.gpus is None else task.gpus, task.nodes)


class TaskBucket:
    """Tasks of one user that ask for the same priority and have the same precedence. A part never changes."""

    __slots__ = ("by_shape", "dealt", "order_scope", "promised")

    def __init__(self, tasks: Iterable[Task]) -> None:
        """Make a part of at least one task."""
        by_shape: defaultdict[RequestShape, list[Task]] = defaultdict(list)
        #: How many of the tasks their user has ordered (O3), and how many have been promised nodes (B3).
        self.dealt = self.promised = 0
        for task in tasks:
            by_shape[shape_of(task)].append(task)
            self._count(task, 1)
        for found in by_shape.values():
            found.sort(key=SUBMISSION_KEY)
        #: The tasks by size, each list in order of the tasks' own seats.
        self.by_shape: dict[RequestShape, list[Task]] = dict(by_shape)
        self.order_scope = UserOrderScope(self.first.user, self.first.priority)

    def _count(self, task: Task, times: int) -> None:
        self.dealt += times * (task.custom_rank is not None)
        self.promised += times * bool(task.promise)

    @property
    def first(self) -> Task:
        """One of the tasks."""
        return next(iter(self.by_shape.values()))[0]

    def __len__(self) -> int:
        return sum(map(len, self.by_shape.values()))

    def __contains__(self, task: object) -> bool:
        """Whether a task of this id and size is in the part."""
        if not isinstance(task, Task):
            return False
        tasks = self.by_shape.get(shape_of(task), ())
        place = bisect_left(tasks, SUBMISSION_KEY(task), key=SUBMISSION_KEY)
        return place < len(tasks) and tasks[place].id == task.id

    def tasks(self) -> list[Task]:
        """Return all tasks, in no order."""
        return [task for tasks in self.by_shape.values() for task in tasks]

    def changed(self, lost: Iterable[Task], found: Iterable[Task]) -> TaskBucket | None:
        """Return the part without some of its tasks and with others; None if no task is left.

        Lists that have not changed are shared with this part.
        """
        new = TaskBucket.__new__(TaskBucket)
        new.order_scope, new.dealt, new.promised = self.order_scope, self.dealt, self.promised
        new.by_shape = dict(self.by_shape)
        copied: set[RequestShape] = set()
        for tasks, times in ((lost, -1), (found, 1)):
            for task in tasks:
                shape = shape_of(task)
                if shape not in copied:
                    copied.add(shape)
                    new.by_shape[shape] = list(new.by_shape.get(shape, ()))
                if times > 0:
                    insort(new.by_shape[shape], task, key=SUBMISSION_KEY)
                else:
                    del new.by_shape[shape][bisect_left(new.by_shape[shape], SUBMISSION_KEY(task), key=SUBMISSION_KEY)]
                new._count(task, times)
        for shape in copied:
            if not new.by_shape[shape]:
                del new.by_shape[shape]
        return new if new.by_shape else None

    def is_over(self, refused: AbstractSet[RequestShape]) -> bool:
        """Whether every task has a size that was refused, and none has a promise."""
        return self.by_shape.keys() <= refused and not self.promised


def reassigned_keys(buckets: Sequence[TaskBucket]) -> dict[TaskId, SubmissionKey]:
    """Return the seats of the tasks in these parts whose users order them themselves (O3), by task id."""
    own = {bucket.order_scope for bucket in buckets if bucket.dealt}
    order_scopes: defaultdict[UserOrderScope, list[Task]] = defaultdict(list)
    for bucket in buckets:
        if bucket.order_scope in own:
            order_scopes[bucket.order_scope] += bucket.tasks()
    return submission_keys(order_scopes.values())
