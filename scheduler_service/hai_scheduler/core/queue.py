"""The waiting tasks of one node group, in order (rules O1 to O3, Q4)."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter

from hai_scheduler.core.model import Priority, Task, TaskId
from hai_scheduler.core.order import seats
from hai_scheduler.core.quota import LEVELS

#: Rank, use of the user, seat (first submission, id), the task: smaller goes first within a priority (O2, O3).
Entry = tuple[float, float, datetime, TaskId, Task]
#: How much of a node a task wants, and of how many: no smaller in both means no easier to place.
Size = tuple[int, int]

_ORDER = attrgetter("submitted_at", "id")
#: More GPUs than any node has: how a whole node compares with k GPUs of one.
_WHOLE = 1 << 30


def size_of(task: Task) -> Size:
    """The task's size."""
    return (_WHOLE if task.gpus is None else task.gpus, task.nodes)


#: Whether nothing can be done for a task any more.
Hopeless = Callable[[Task], bool]

#: Tasks of one rank, and of users with equal use: in order of rank, then use.
Bunch = tuple[float, float]


class Lane:
    """The tasks that wait at one priority, in bunches. Most are never looked at: order is made as it is asked for."""

    def __init__(self) -> None:
        #: Its tasks. One that is AUTO, or has been promised nodes, comes in by `add`.
        self.bunches: defaultdict[Bunch, list[Task]] = defaultdict(list)
        #: Bunches that were not begun, smallest first, and what is left to look at of the one that was, last first.
        self._heap: list[Bunch] = []
        self._begun: list[Entry] = []
        self._gone: set[TaskId] = set()
        #: AUTO tasks in it (Q4).
        self.auto: list[Task] = []
        #: GPUs of a node, or None for whole ones, and nodes that its tasks ask for; as sizes when it is open.
        self.asked: set[tuple[int | None, int]] = set()
        self.sizes: set[Size] = set()
        #: How many tasks with promised nodes have not been looked at (B3).
        self.promised = 0

    def add(self, task: Task, rank: float, use: float) -> None:
        """Put a task in. Nothing has been taken out yet."""
        self.bunches[rank, use].append(task)
        self.asked.add((task.gpus, task.nodes))
        if task.priority is None:
            self.auto.append(task)
        if task.promise:
            self.promised += 1

    def open(self) -> None:
        """All tasks are in it."""
        self._begin()
        self.sizes = {(_WHOLE if gpus is None else gpus, nodes) for gpus, nodes in self.asked}

    def _begin(self) -> None:
        self._heap = list(self.bunches)
        heapq.heapify(self._heap)

    def pop(self, hopeless: Hopeless) -> Entry | None:
        """The next in order; None when all have been looked at, but for those that are hopeless already."""
        while self._begun or self._heap:
            if not self._begun:
                key = heapq.heappop(self._heap)
                self._begun = _in_order(key, self.bunches[key], hopeless)[::-1]
                continue
            entry = self._begun.pop()
            if entry[4].id not in self._gone:
                self.promised -= bool(entry[4].promise)
                return entry
        return None

    def again(self) -> None:
        """Begin anew: those that were looked at come once more."""
        self._begun = []
        self._begin()
        tasks = (task for bunch in self.bunches.values() for task in bunch)
        self.promised = sum(bool(task.promise) and task.id not in self._gone for task in tasks)

    def remove(self, task: Task) -> None:
        """The task waits in another lane."""
        self._gone.add(task.id)

    def is_gone(self, task: Task) -> bool:
        """Whether the task was removed."""
        return task.id in self._gone

    def ranks(self) -> set[float]:
        """The ranks of its tasks."""
        return {rank for rank, _ in self.bunches}

    def order(self) -> Iterator[Entry]:
        """All of it."""
        for key in sorted(self.bunches):
            yield from (entry for entry in _in_order(key, self.bunches[key]) if entry[4].id not in self._gone)


def _in_order(key: Bunch, tasks: list[Task], hopeless: Hopeless | None = None) -> list[Entry]:
    """The tasks of a bunch by seat, without the hopeless: first submission, or what their user has dealt out (O3)."""
    left = tasks if hopeless is None else [task for task in tasks if not hopeless(task)]
    if not left:
        return []
    own = {(task.user, task.priority) for task in tasks if task.custom_rank is not None}
    if not own:
        return [(*key, task.submitted_at, task.id, task) for task in sorted(left, key=_ORDER)]
    hands: defaultdict[tuple[str, Priority | None], list[Task]] = defaultdict(list)
    for task in tasks:
        if (task.user, task.priority) in own:
            hands[task.user, task.priority].append(task)
    dealt = seats(hands.values())
    return sorted((*key, *(dealt.get(task.id) or (task.submitted_at, task.id)), task) for task in left)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a task stands in the queue: position from 1."""

    task: Task
    priority: Priority
    rank: float
    position: int


class Queue:
    """Lanes by priority, and where each task stands in all of them together."""

    def __init__(self) -> None:
        self.lanes: defaultdict[Priority, Lane] = defaultdict(Lane)
        self._places: dict[TaskId, Place] | None = None

    def place_of(self, task_id: TaskId) -> Place:
        """Where the task stands, the queue having been served. Raises KeyError."""
        if self._places is None:
            self._places = {}
            for priority in LEVELS:
                for entry in self.lanes[priority].order():
                    position = len(self._places) + 1
                    self._places[entry[4].id] = Place(entry[4], priority, entry[0], position)
        return self._places[task_id]
