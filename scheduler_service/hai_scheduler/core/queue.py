"""The waiting tasks of one node group, in order (rules O1 to O3, Q4)."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
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
#: Rank and user.
Stand = tuple[float, str]
#: One user's tasks at one level asked for, which the user may order himself (O3).
Hand = tuple[str, Priority | None]

_ORDER = attrgetter("submitted_at", "id")
#: More GPUs than any node has: how a whole node compares with k GPUs of one.
_WHOLE = 1 << 30


def size_of(task: Task) -> Size:
    """The task's size."""
    return (_WHOLE if task.gpus is None else task.gpus, task.nodes)


class Part:
    """Tasks of one user that ask for the same level and have the same rank. It does not change any more."""

    __slots__ = ("by_size", "dealt", "hand", "promised")

    def __init__(self, tasks: Sequence[Task]) -> None:
        """There is at least one task."""
        self.hand: Hand = (tasks[0].user, tasks[0].priority)
        #: Whether the user has ordered any of them himself (O3), and whether any has been promised nodes (B3).
        self.dealt = self.promised = False
        self.by_size: defaultdict[Size, list[Task]] = defaultdict(list)
        for task in tasks:
            self.by_size[size_of(task)].append(task)
            if task.custom_rank is not None:
                self.dealt = True
            if task.promise:
                self.promised = True

    @property
    def first(self) -> Task:
        """One of them."""
        return next(iter(self.by_size.values()))[0]

    def tasks(self) -> list[Task]:
        """All of them."""
        return [task for tasks in self.by_size.values() for task in tasks]

    def is_over(self, refused: AbstractSet[Size]) -> bool:
        """Whether all of them want what nobody can be given who was not promised it."""
        return self.by_size.keys() <= refused and not self.promised


@dataclass(frozen=True, slots=True)
class Hopeless:
    """The tasks that nothing can be done for any more."""

    #: Sizes of which no task has any hope, unless it was promised nodes.
    sizes: AbstractSet[Size]
    task: Callable[[Task], bool]
    #: What `task` says of every task of a user and size that was promised no nodes; None if that depends on the task.
    every: Callable[[str, Size], bool | None] = lambda _user, _size: None


_NOBODY = Hopeless(frozenset(), lambda _: False, lambda _user, _size: False)


class Lane:
    """The tasks that wait at one priority. Most are never looked at: order is made as it is asked for."""

    def __init__(self, parts: Mapping[Stand, Part], use: Mapping[str, float]) -> None:
        """`parts` are the tasks that need not come in by `add`; `use` is what their users have held lately (O3)."""
        self._parts = parts
        self._use = use
        #: AUTO tasks, and those that have been promised nodes, were unlucky on some, or fell from a higher level.
        self._added: defaultdict[Stand, list[Part]] = defaultdict(list)
        #: Who was not begun, smallest first, and what is left to look at of those who were, last first.
        self._heap: list[tuple[float, float, str]] = []
        self._begun: list[Entry] = []
        self._gone: set[TaskId] = set()
        #: AUTO tasks in it (Q4), and tasks with promised nodes (B3).
        self.auto: list[Part] = []
        self._promised: list[Task] = []
        #: What its tasks ask for.
        self.sizes: set[Size] = set().union(*[part.by_size for part in parts.values()])
        #: How many tasks with promised nodes have not been looked at (B3).
        self.promised = 0

    def add(self, part: Part, rank: float) -> None:
        """Put tasks in. Nothing has been taken out yet."""
        user, asked = part.hand
        self._added[rank, user].append(part)
        self.sizes |= part.by_size.keys()
        if asked is None:
            self.auto.append(part)
        if part.promised:
            self._promised += [task for task in part.tasks() if task.promise]

    def begin(self) -> None:
        """All tasks are in it, and are looked at from the first on: from now, or once more."""
        self._begun = []
        self._heap = self._stands()
        heapq.heapify(self._heap)
        self.promised = sum(task.id not in self._gone for task in self._promised)

    def _stands(self) -> list[tuple[float, float, str]]:
        use, parts = self._use, self._parts
        added = [(rank, use[user], user) for rank, user in self._added if (rank, user) not in parts]
        return [(rank, use[user], user) for rank, user in parts] + added

    def pop(self, hopeless: Hopeless) -> Entry | None:
        """The next in order; None when all have been looked at, but for those that are hopeless already."""
        while True:
            while self._begun:
                entry = self._begun.pop()
                if entry[4].id not in self._gone:
                    self.promised -= bool(entry[4].promise)
                    return entry
            if not self._heap:
                return None
            rank, _, user = self._heap[0]
            if self._is_over((rank, user), hopeless.sizes):
                heapq.heappop(self._heap)
            else:
                self._begun = self._next(self._heap, hopeless)[::-1]

    def _is_over(self, stand: Stand, refused: AbstractSet[Size]) -> bool:
        part = self._parts.get(stand)
        if part is not None and not part.is_over(refused):
            return False
        return stand not in self._added or all(part.is_over(refused) for part in self._added[stand])

    def _next(self, heap: list[tuple[float, float, str]], hopeless: Hopeless) -> list[Entry]:
        """The tasks of the next rank, and of the next user or users with equal use, in order."""
        rank, use, user = heapq.heappop(heap)
        stands = [(rank, user)]
        while heap and heap[0][1] == use and heap[0][0] == rank:
            stands.append((rank, heapq.heappop(heap)[2]))
        parts = [part for stand in stands if (part := self._parts.get(stand)) is not None]
        parts += [part for stand in stands for part in self._added.get(stand, ())]
        return _in_order(rank, use, parts, hopeless)

    def remove(self, task: Task) -> None:
        """The task waits in another lane."""
        self._gone.add(task.id)

    def is_gone(self, task: Task) -> bool:
        """Whether the task was removed."""
        return task.id in self._gone

    def ranks(self) -> set[float]:
        """The ranks of its tasks."""
        return {rank for rank, _ in self._parts} | {rank for rank, _ in self._added}

    def order(self) -> Iterator[Entry]:
        """All of it."""
        heap = sorted(self._stands())
        while heap:
            yield from (entry for entry in self._next(heap, _NOBODY) if entry[4].id not in self._gone)


def _in_order(rank: float, use: float, parts: Sequence[Part], hopeless: Hopeless) -> list[Entry]:
    """The tasks by seat, without the hopeless: first submission, or what their user has dealt out (O3)."""
    left: list[Task] = []
    for part in parts:
        for size, tasks in part.by_size.items():
            over = None if part.promised else size in hopeless.sizes or hopeless.every(part.hand[0], size)
            if over is None:
                left += [task for task in tasks if not hopeless.task(task)]
            elif not over:
                left += tasks
    if not left:
        return []
    own = {part.hand for part in parts if part.dealt}
    if not own:
        return [(rank, use, task.submitted_at, task.id, task) for task in sorted(left, key=_ORDER)]
    hands: defaultdict[Hand, list[Task]] = defaultdict(list)
    for part in parts:
        if part.hand in own:
            hands[part.hand] += part.tasks()
    dealt = seats(hands.values())
    return sorted((rank, use, *(dealt.get(task.id) or (task.submitted_at, task.id)), task) for task in left)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a task stands in the queue: position from 1."""

    task: Task
    priority: Priority
    rank: float
    position: int


class Queue:
    """Lanes by priority, and where each task stands in all of them together."""

    def __init__(self, lanes: Mapping[Priority, Lane]) -> None:
        self.lanes = lanes
        self._places: dict[TaskId, tuple[Entry, Priority, int]] | None = None

    def place_of(self, task_id: TaskId) -> Place:
        """Where the task stands, the queue having been served. Raises KeyError."""
        if self._places is None:
            every = ((entry, level) for level in LEVELS for entry in self.lanes[level].order())
            self._places = {entry[4].id: (entry, level, number) for number, (entry, level) in enumerate(every, 1)}
        entry, priority, position = self._places[task_id]
        return Place(entry[4], priority, entry[0], position)
