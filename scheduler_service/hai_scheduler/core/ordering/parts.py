"""Parts of the queue: tasks of one user with the same rank, kept in order of their seats (rule O3)."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from operator import attrgetter

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.order import Seat, seats

#: How many GPUs of a node a task takes, and how many nodes. A task is no easier to place if neither number is smaller.
Size = tuple[int, int]
#: Rank and user.
Stand = tuple[float, str]
#: One user's tasks that ask for one priority; users may order them themselves (O3).
Hand = tuple[str, Priority | None]

#: A task's own seat: first submission, then id.
SEAT = attrgetter("submitted_at", "id")
#: More GPUs than any node has: how a whole node compares with k GPUs of one.
_WHOLE = 1 << 30


def size_of(task: Task) -> Size:
    """Return the size of a task."""
    return (_WHOLE if task.gpus is None else task.gpus, task.nodes)


class Part:
    """Tasks of one user that ask for the same priority and have the same rank. A part never changes."""

    __slots__ = ("by_size", "dealt", "hand", "promised")

    def __init__(self, tasks: Iterable[Task]) -> None:
        """Make a part of at least one task."""
        by_size: defaultdict[Size, list[Task]] = defaultdict(list)
        #: How many of the tasks their user has ordered (O3), and how many have been promised nodes (B3).
        self.dealt = self.promised = 0
        for task in tasks:
            by_size[size_of(task)].append(task)
            self._count(task, 1)
        for found in by_size.values():
            found.sort(key=SEAT)
        #: The tasks by size, each list in order of the tasks' own seats.
        self.by_size: dict[Size, list[Task]] = dict(by_size)
        self.hand: Hand = (self.first.user, self.first.priority)

    def _count(self, task: Task, times: int) -> None:
        self.dealt += times * (task.custom_rank is not None)
        self.promised += times * bool(task.promise)

    @property
    def first(self) -> Task:
        """One of the tasks."""
        return next(iter(self.by_size.values()))[0]

    def __len__(self) -> int:
        return sum(map(len, self.by_size.values()))

    def __contains__(self, task: object) -> bool:
        """Whether a task of this id and size is in the part."""
        if not isinstance(task, Task):
            return False
        tasks = self.by_size.get(size_of(task), ())
        place = bisect_left(tasks, SEAT(task), key=SEAT)
        return place < len(tasks) and tasks[place].id == task.id

    def tasks(self) -> list[Task]:
        """Return all tasks, in no order."""
        return [task for tasks in self.by_size.values() for task in tasks]

    def changed(self, lost: Iterable[Task], found: Iterable[Task]) -> Part | None:
        """Return the part without some of its tasks and with others; None if no task is left.

        Lists that have not changed are shared with this part.
        """
        new = Part.__new__(Part)
        new.hand, new.dealt, new.promised = self.hand, self.dealt, self.promised
        new.by_size = dict(self.by_size)
        copied: set[Size] = set()
        for tasks, times in ((lost, -1), (found, 1)):
            for task in tasks:
                size = size_of(task)
                if size not in copied:
                    copied.add(size)
                    new.by_size[size] = list(new.by_size.get(size, ()))
                if times > 0:
                    insort(new.by_size[size], task, key=SEAT)
                else:
                    del new.by_size[size][bisect_left(new.by_size[size], SEAT(task), key=SEAT)]
                new._count(task, times)
        for size in copied:
            if not new.by_size[size]:
                del new.by_size[size]
        return new if new.by_size else None

    def is_over(self, refused: AbstractSet[Size]) -> bool:
        """Whether every task has a size that was refused, and none has a promise."""
        return self.by_size.keys() <= refused and not self.promised


def dealt_seats(parts: Sequence[Part]) -> dict[TaskId, Seat]:
    """Return the seats of the tasks in these parts whose users order them themselves (O3), by task id."""
    own = {part.hand for part in parts if part.dealt}
    hands: defaultdict[Hand, list[Task]] = defaultdict(list)
    for part in parts:
        if part.hand in own:
            hands[part.hand] += part.tasks()
    return seats(hands.values())
