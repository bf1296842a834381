"""A cache of tasks and rows of small tables that this process has read before.

A tick reads every unfinished task, and of thousands only a few have changed since the last one. Every write of a task
gives it the next number (`hai_tasks.change`), under the writer's lock. So all writes since a number are one range of an
index, and a reader that knows the state at that number reads only this range.

A number alone proves nothing: a database that was restored, or taken over from a replica that lagged, gives the same
numbers again. So a cached state counts only while the newest write that it was read with is still part of the history
that the view shows. Besides, everything is compared with the database at intervals.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.task import Task

#: The version of a task and when it was written: a database that was restored, or taken over from a replica that
#: lagged, may reach the same version a second time with other content, but not at the same microsecond.
Stamp = tuple[int, int]

#: Seconds after which everything is compared with the database, whatever the numbers say: an admin may have changed
#: rows by hand.
COMPARE_EVERY_S: Final = 30.0
#: Number of states that are kept: a view that began before the latest commit goes on from an earlier state.
_STATES: Final = 3
#: If more tasks than this have changed, the list of all tasks is built again.
_FEW: Final = 200

_ID = attrgetter("id")


@dataclass(frozen=True, slots=True)
class Head:
    """The newest write of a task that a view sees, with the database and the epoch it belongs to."""

    database: str
    epoch: int
    #: A random word that changes whenever a task is deleted: its number is deleted too, and may be given again.
    forgotten: str | None
    #: The number of the write; 0 while no task has been written since the database has numbers.
    change: int
    #: The task that was written; None while there is none.
    task: TaskId | None
    stamp: Stamp

    @property
    def history(self) -> tuple[str, int, str | None]:
        """The history of the write: within one history, numbers only grow."""
        return self.database, self.epoch, self.forgotten


@dataclass(frozen=True, slots=True)
class Written:
    """A task that has been written."""

    id: TaskId
    change: int
    stamp: Stamp
    #: The task as it is now; None if it has ended.
    task: Task | None


@dataclass(frozen=True, slots=True)
class Known:
    """All unfinished tasks as one view has seen them; immutable."""

    head: Head
    stamps: Mapping[TaskId, Stamp]
    #: The tasks by id. Without a change it is the same tuple as before; unchanged tasks are always the same objects.
    tasks: tuple[Task, ...]
    #: When the state was last compared with the whole database, in seconds of a steady clock.
    compared_at: float

    @property
    def fresh(self) -> bool:
        """Whether the state was compared with the whole database in the last COMPARE_EVERY_S seconds."""
        return time.monotonic() - self.compared_at < COMPARE_EVERY_S

    def leads_to(self, head: Head, news: Iterable[Written]) -> bool:
        """Whether a view with that head is a later state of this one; `news` is all that was written from here on."""
        mine, found = self.head, False
        for each in news:
            if each.change <= mine.change:
                if (each.id, each.stamp) != (mine.task, mine.stamp):
                    return False  # another history gave the number to another write
                found = True
                continue
            before = mine.stamp if each.id == mine.task else self.stamps.get(each.id)
            if before is not None and each.stamp[0] <= before[0]:
                return False  # a later write has a greater version
            found |= each.id == mine.task
        return found and head.change > mine.change

    def after(self, head: Head, news: Iterable[Written]) -> Known:
        """Return the state after the news."""
        news = [each for each in news if each.change > self.head.change]
        stamps = dict(self.stamps)
        for each in news:
            stamps.pop(each.id, None) if each.task is None else stamps.update({each.id: each.stamp})
        tasks = patched(self.tasks, {each.id: each.task for each in news})
        return Known(head=head, stamps=stamps, tasks=tasks, compared_at=self.compared_at)


class KnownTasks:
    """The last states of the unfinished tasks, shared by the transactions of one store.

    It holds only tasks that were committed when they were read.
    """

    def __init__(self) -> None:
        #: The states in the order of their numbers.
        self._states: tuple[Known, ...] = ()
        #: Grows whenever everything is forgotten.
        self.era = 0

    def forget(self) -> None:
        """Forget all states: the database may be another one than before."""
        self._states = ()
        self.era += 1

    def up_to(self, head: Head) -> Known | None:
        """Return the latest state that may be an earlier state of a view with that head; None if there is none."""
        for known in reversed(self._states):
            if known.head.history == head.history and 0 < known.head.change <= head.change:
                return known
        return None

    def tasks(self) -> dict[TaskId, tuple[Stamp, Task]]:
        """Return each task as last read, with its stamp, whatever history it belonged to."""
        known = self._states[-1] if self._states else None
        return {} if known is None else {task.id: (known.stamps[task.id], task) for task in known.tasks}

    def keep(self, known: Known, era: int) -> None:
        """Keep a state, unless everything was forgotten since `era`, when its reading began.

        States with greater numbers are dropped: they belong to other histories, or this view is an older one that comes
        late; then the changes since are read once more.
        """
        if era == self.era:
            earlier = [state for state in self._states if state.head.change < known.head.change]
            self._states = (*earlier[1 - _STATES :], known)


class KnownFacts:
    """The rows of small tables, shared by the transactions of one store, each with the word of the table's state.

    They are read again at intervals, as tasks are.
    """

    def __init__(self) -> None:
        self._rows: dict[str, tuple[str, float, Any]] = {}
        #: Grows whenever everything is forgotten.
        self.era = 0

    def forget(self) -> None:
        """Forget all rows."""
        self._rows = {}
        self.era += 1

    def get(self, table: str, word: str) -> Any | None:
        """Return a table's rows in the state of the word; None if they are not known, or were read too long ago."""
        known, at, rows = self._rows.get(table, ("", 0.0, None))
        return rows if known == word and time.monotonic() - at < COMPARE_EVERY_S else None

    def put(self, table: str, word: str, rows: Any, era: int) -> None:
        """Keep a table's rows that a view has read, unless everything was forgotten since `era`."""
        if era == self.era:
            self._rows[table] = word, time.monotonic(), rows


def patched(tasks: tuple[Task, ...], changed: Mapping[TaskId, Task | None]) -> tuple[Task, ...]:
    """Return the tasks in the order of their ids, with changed and new tasks replaced, and without those now None."""
    if not changed:
        return tasks
    if len(changed) > _FEW:
        every = {task.id: task for task in tasks}
        every.update({number: task for number, task in changed.items() if task is not None})
        return tuple([every[number] for number in sorted(every) if changed.get(number, every) is not None])
    found = list(tasks)
    for number, task in changed.items():
        # New tasks have the greatest ids.
        place = len(found) if not found or found[-1].id < number else bisect_left(found, number, key=_ID)
        there = place < len(found) and found[place].id == number
        found[place : place + there] = [] if task is None else [task]
    return tuple(found)
