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
from hai_scheduler.core.ordering.order import Seat
from hai_scheduler.core.ordering.parts import SEAT, Part, Size, Stand, dealt_seats

#: How many tasks of one rank and use are taken one by one from the heads of their lists; the rest is sorted at once.
FEW = 64

_SEAT = itemgetter(0)


class QueueEntry(NamedTuple):
    """A waiting task with its sort key: of two entries of one priority the smaller goes first (O2, O3)."""

    rank: float
    #: Decayed use of the task's user.
    use: float
    #: The seat: the task's own, or the one that its user has given to it.
    submitted_at: datetime
    seat_id: TaskId
    task: Task


@dataclass(frozen=True, slots=True)
class Hopeless:
    """The tasks that cannot be served in this walk any more."""

    #: Sizes that were refused for all tasks without promised nodes.
    sizes: AbstractSet[Size]
    task: Callable[[Task], bool]
    #: What `task` returns for all tasks of a user and size without promised nodes; None if it depends on the task.
    every: Callable[[str, Size], bool | None] = lambda _user, _size: None
    #: Makes a test for the tasks for which `every` returns None; its answers stay those of the moment when it was made.
    lasting: Callable[[], Callable[[Task], bool]] | None = None


class Lane:
    """The tasks that wait at one priority. Most are never examined, so they are sorted only as far as needed."""

    def __init__(self, parts: Mapping[Stand, Part], use: Mapping[str, float]) -> None:
        """Begin with the tasks of `parts`; `add` brings the others. `use` is the decayed use of the users (O3)."""
        self.use = use
        self._parts = parts
        #: AUTO tasks, and tasks that have been promised nodes, avoid nodes, or fell from a higher priority.
        self._added: defaultdict[Stand, list[Part]] = defaultdict(list)
        #: Ids of the added tasks that came in one by one.
        self._alone: set[TaskId] = set()
        #: A heap of rank, use and user that the walk has not reached; the tasks left of those that it has reached.
        self._heap: list[tuple[float, float, str]] = []
        self._begun: Iterator[QueueEntry] = iter(())
        #: Tasks that were moved to another lane, and their ranks.
        self.gone: dict[TaskId, tuple[Task, float]] = {}
        #: AUTO tasks in the lane (Q4), and tasks with promised nodes (B3).
        self.auto: list[Part] = []
        self._promised: list[Task] = []
        #: The sizes of the tasks.
        self.sizes: set[Size] = set().union(*[part.by_size for part in parts.values()])
        #: How many tasks with promised nodes have not been examined (B3).
        self.promised = 0

    def add(self, part: Part, rank: float) -> None:
        """Add tasks, before any task is taken out."""
        user, asked = part.hand
        self._added[rank, user].append(part)
        self.sizes |= part.by_size.keys()
        if len(part) == 1:
            self._alone.add(part.first.id)
        if asked is None:
            self.auto.append(part)
        if part.promised:
            self._promised += [task for task in part.tasks() if task.promise]

    def begin(self) -> None:
        """Begin, or begin again, at the first task; all tasks have been added."""
        self._begun = iter(())
        self._heap = [(rank, self.use[user], user) for rank, user in self.stands()]
        heapq.heapify(self._heap)
        self.promised = sum(task.id not in self.gone for task in self._promised)

    def pop(self, hopeless: Hopeless) -> QueueEntry | None:
        """Return the next task in order; None when all tasks that are not hopeless have been returned."""
        while True:
            for entry in self._begun:
                if entry.task.id not in self.gone:
                    self.promised -= bool(entry.task.promise)
                    return entry
            if not self._heap:
                return None
            rank, _, user = self._heap[0]
            if self._is_over((rank, user), hopeless.sizes):
                heapq.heappop(self._heap)
            else:
                self._begun = self._next(self._heap, hopeless)

    def _is_over(self, stand: Stand, refused: AbstractSet[Size]) -> bool:
        return all(part.is_over(refused) for part in self.parts_at(stand))

    def _next(self, heap: list[tuple[float, float, str]], hopeless: Hopeless) -> Iterator[QueueEntry]:
        """Return the tasks of the next rank, and of the next user or users with equal use, in order."""
        rank, use, user = heapq.heappop(heap)
        stands = [(rank, user)]
        while heap and heap[0][1] == use and heap[0][0] == rank:
            stands.append((rank, heapq.heappop(heap)[2]))
        left = _left([part for stand in stands for part in self.parts_at(stand)], hopeless)
        return (QueueEntry(rank, use, *seat, task) for seat, task in _merged(left))

    def remove(self, task: Task, rank: float) -> None:
        """Remove the task, which has that rank in this lane; it waits in another lane from now on."""
        self.gone[task.id] = task, rank

    def holds(self, task: Task, rank: float) -> bool:
        """Whether the task, which has that rank, waits in this lane."""
        if task.id in self.gone:
            return False
        if task.id in self._alone:
            return True
        stand = rank, task.user
        part, added = self._parts.get(stand), self._added.get(stand)
        if part is not None and task in part:
            return True
        return added is not None and any(task in part for part in added)

    def is_gone(self, task: Task) -> bool:
        """Whether the task was removed."""
        return task.id in self.gone

    def ranks(self) -> set[float]:
        """Return the ranks of all tasks."""
        return {rank for rank, _ in self._parts} | {rank for rank, _ in self._added}

    def stands(self) -> list[Stand]:
        """Return each pair of rank and user that has tasks, in no order."""
        return [*self._parts, *(stand for stand in self._added if stand not in self._parts)]

    def parts_at(self, stand: Stand) -> Sequence[Part]:
        """Return the user's tasks of that rank, with those that were removed."""
        part, added = self._parts.get(stand), self._added.get(stand, ())
        return added if part is None else (part, *added)


@dataclass(frozen=True, slots=True)
class _List:
    """Tasks in the order of their seats; some may be hopeless."""

    tasks: Sequence[Task]
    seat: Callable[[Task], Seat] = SEAT
    hopeless: Callable[[Task], bool] | None = None

    def rest(self, begin: int) -> Iterable[tuple[Seat, Task]]:
        """Yield the tasks from an index on that are not hopeless, with their seats."""
        for place in range(begin, len(self.tasks)):
            task = self.tasks[place]
            if self.hopeless is None or not self.hopeless(task):
                yield self.seat(task), task


def _left(parts: Sequence[Part], hopeless: Hopeless) -> list[_List]:
    """Return the tasks that are not hopeless now, in lists by seat: their own seats, or those from their user (O3)."""
    dealt = dealt_seats(parts)
    lists, own = [], []
    for part in parts:
        found = _with_hope(part, hopeless)
        if dealt and part.first.id in dealt:
            own += [task for each in found for _, task in each.rest(0)]
        else:
            lists += found
    return [*lists, _List(sorted(own, key=lambda task: dealt[task.id]), lambda task: dealt[task.id])]


def _with_hope(part: Part, hopeless: Hopeless) -> list[_List]:
    if part.promised:
        return [_List(sorted((task for task in part.tasks() if not hopeless.task(task)), key=SEAT))]
    lists = []
    for size, tasks in part.by_size.items():
        over = size in hopeless.sizes or hopeless.every(part.hand[0], size)
        if over is None:
            lists.append(_List(tasks, hopeless=hopeless.lasting() if hopeless.lasting else hopeless.task))
        elif not over:
            lists.append(_List(tasks))
    return lists


def _merged(lists: Sequence[_List]) -> Iterator[tuple[Seat, Task]]:
    """Yield the tasks of all lists in order: `FEW` from the heads of the lists, then the rest, sorted at once."""
    heads = [(each.seat(each.tasks[0]), number, 0) for number, each in enumerate(lists) if each.tasks]
    heapq.heapify(heads)
    for _ in range(FEW):
        if not heads:
            return
        seat, number, place = heads[0]
        tasks, hopeless = lists[number].tasks, lists[number].hopeless
        if hopeless is None or not hopeless(tasks[place]):
            yield seat, tasks[place]
        if place + 1 < len(tasks):
            heapq.heapreplace(heads, (lists[number].seat(tasks[place + 1]), number, place + 1))
        else:
            heapq.heappop(heads)
    rest = [entry for _, number, place in heads for entry in lists[number].rest(place)]
    rest.sort(key=_SEAT)
    yield from rest
