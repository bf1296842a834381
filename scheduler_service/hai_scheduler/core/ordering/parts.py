"""Tasks that stand together in the queue, kept in order of their seats (rule O3)."""

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

#: How much of a node a task wants, and of how many: no smaller in both means no easier to place.
Size = tuple[int, int]
#: Rank and user.
Stand = tuple[float, str]
#: One user's tasks at one level asked for, which the user may order himself (O3).
Hand = tuple[str, Priority | None]

#: A task's own seat: first submission, then id.
SEAT = attrgetter("submitted_at", "id")
#: More GPUs than any node has: how a whole node compares with k GPUs of one.
_WHOLE = 1 << 30


def size_of(task: Task) -> Size:
    """The task's size."""
    return (_WHOLE if task.gpus is None else task.gpus, task.nodes)


class Part:
    """Tasks of one user that ask for the same level and have the same rank. It does not change any more."""

    __slots__ = ("by_size", "dealt", "hand", "promised")

    def __init__(self, tasks: Iterable[Task]) -> None:
        """There is at least one task."""
        by_size: defaultdict[Size, list[Task]] = defaultdict(list)
        #: How many of them the user has ordered himself (O3), and how many have been promised nodes (B3).
        self.dealt = self.promised = 0
        for task in tasks:
            by_size[size_of(task)].append(task)
            self._count(task, 1)
        for found in by_size.values():
            found.sort(key=SEAT)
        #: In order of their own seats each.
        self.by_size: dict[Size, list[Task]] = dict(by_size)
        self.hand: Hand = (self.first.user, self.first.priority)

    def _count(self, task: Task, times: int) -> None:
        self.dealt += times * (task.custom_rank is not None)
        self.promised += times * bool(task.promise)

    @property
    def first(self) -> Task:
        """One of them."""
        return next(iter(self.by_size.values()))[0]

    def __len__(self) -> int:
        return sum(map(len, self.by_size.values()))

    def __contains__(self, task: object) -> bool:
        """Whether a task of this id and size is one of them."""
        if not isinstance(task, Task):
            return False
        tasks = self.by_size.get(size_of(task), ())
        place = bisect_left(tasks, SEAT(task), key=SEAT)
        return place < len(tasks) and tasks[place].id == task.id

    def tasks(self) -> list[Task]:
        """All of them."""
        return [task for tasks in self.by_size.values() for task in tasks]

    def changed(self, lost: Iterable[Task], found: Iterable[Task]) -> Part | None:
        """It without tasks that it has, and with others: what has not changed is shared. None if nobody is left."""
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
        """Whether all of them want what nobody can be given who was not promised it."""
        return self.by_size.keys() <= refused and not self.promised


def dealt_seats(parts: Sequence[Part]) -> dict[TaskId, Seat]:
    """The seats of all tasks of hands that a user has ordered himself (O3), those of them that lie in these parts."""
    own = {part.hand for part in parts if part.dealt}
    hands: defaultdict[Hand, list[Task]] = defaultdict(list)
    for part in parts:
        if part.hand in own:
            hands[part.hand] += part.tasks()
    return seats(hands.values())
