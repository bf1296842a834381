"""Tasks and rows of small tables that this process has read before.

A tick reads every unfinished task, and of thousands only a few have changed since the last one. Every write of a task
gives it the next number (`hai_tasks.change`), under the writer's lock: what has been written since a number is one
range of an index, and whoever has read up to there reads nothing else.

A number alone proves nothing: a database that was restored, or taken over from a replica that lagged, gives the same
numbers again. So what is known counts only while the newest write that it was read with is still part of the history
that the view shows, and everything is compared with the database now and then all the same.
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

#: Version and when it was written: a database that was restored, or taken over from a replica that lagged, may come
#: to the same version a second time with other content, but not at the same microsecond.
Stamp = tuple[int, int]

#: Seconds after which everything is compared with the database, whatever the numbers say: rows may have been changed
#: by hand, or by a replica of an older version, which writes no number.
COMPARE_EVERY_S: Final = 30.0
#: So many states are kept: views that began before the latest commit read on from theirs.
_STATES: Final = 3
#: If more tasks than this have changed, the list of all is made anew.
_FEW: Final = 200

_ID = attrgetter("id")


@dataclass(frozen=True, slots=True)
class Head:
    """The newest write of a task that a view sees, and in which stretch of which database's life."""

    database: str
    epoch: int
    #: A random word that changes whenever tasks are forgotten: their numbers go with them, and may be given again.
    forgotten: str | None
    #: Its number; 0 while no task has been written since the database has had numbers.
    change: int
    #: Which task it was; None while there is none.
    task: TaskId | None
    stamp: Stamp

    @property
    def history(self) -> tuple[str, int, str | None]:
        """Within one of these, numbers only grow."""
        return self.database, self.epoch, self.forgotten


@dataclass(frozen=True, slots=True)
class Written:
    """A task that has been written."""

    id: TaskId
    change: int
    stamp: Stamp
    #: As it is now; None if it has ended.
    task: Task | None


@dataclass(frozen=True, slots=True)
class Known:
    """All unfinished tasks as one view has seen them. It does not change any more."""

    head: Head
    stamps: Mapping[TaskId, Stamp]
    #: By id. As long as nothing has changed it is the same object, and a task that has not changed always is.
    tasks: tuple[Task, ...]
    #: When it was last compared with the database as a whole, in seconds of a steady clock.
    compared_at: float

    @property
    def fresh(self) -> bool:
        """Whether it was compared with the database as a whole lately."""
        return time.monotonic() - self.compared_at < COMPARE_EVERY_S

    def leads_to(self, head: Head, news: Iterable[Written]) -> bool:
        """Whether the view of that head, with all that was written from this head on, is a later state of this one."""
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
        """The state that the news lead to."""
        news = [each for each in news if each.change > self.head.change]
        stamps = dict(self.stamps)
        for each in news:
            stamps.pop(each.id, None) if each.task is None else stamps.update({each.id: each.stamp})
        tasks = patched(self.tasks, {each.id: each.task for each in news})
        return Known(head=head, stamps=stamps, tasks=tasks, compared_at=self.compared_at)


class KnownTasks:
    """What the transactions of one store share: the states of the unfinished tasks that were last read.

    Only what had been committed when it was read belongs here.
    """

    def __init__(self) -> None:
        #: In the order of their numbers.
        self._states: tuple[Known, ...] = ()
        #: Grows whenever everything is forgotten.
        self.era = 0

    def forget(self) -> None:
        """Nothing that was read so far counts any more: the database may be another one than it was."""
        self._states = ()
        self.era += 1

    def up_to(self, head: Head) -> Known | None:
        """The latest state that may be an earlier one of a view with that head; None if there is none."""
        for known in reversed(self._states):
            if known.head.history == head.history and 0 < known.head.change <= head.change:
                return known
        return None

    def tasks(self) -> dict[TaskId, tuple[Stamp, Task]]:
        """Each task as last read, with its stamp, whatever history it belonged to."""
        known = self._states[-1] if self._states else None
        return {} if known is None else {task.id: (known.stamps[task.id], task) for task in known.tasks}

    def keep(self, known: Known, era: int) -> None:
        """Take a state in, unless everything was forgotten since `era`, when its reading began.

        States with greater numbers go: they are of other histories, or a view that is older has come late, and then
        what has changed since is read once more.
        """
        if era == self.era:
            earlier = [state for state in self._states if state.head.change < known.head.change]
            self._states = (*earlier[1 - _STATES :], known)


class KnownFacts:
    """What the transactions of one store share of small tables: their rows, by the word that stands for them.

    They are read anew now and then all the same, as tasks are.
    """

    def __init__(self) -> None:
        self._rows: dict[str, tuple[str, float, Any]] = {}
        #: Grows whenever everything is forgotten.
        self.era = 0

    def forget(self) -> None:
        """Nothing that was read so far counts any more."""
        self._rows = {}
        self.era += 1

    def get(self, table: str, word: str) -> Any | None:
        """The rows that the word stands for; None if they are not known, or were read too long ago."""
        known, at, rows = self._rows.get(table, ("", 0.0, None))
        return rows if known == word and time.monotonic() - at < COMPARE_EVERY_S else None

    def put(self, table: str, word: str, rows: Any, era: int) -> None:
        """Keep rows that a view has read, unless everything was forgotten since `era`."""
        if era == self.era:
            self._rows[table] = word, time.monotonic(), rows


def patched(tasks: tuple[Task, ...], changed: Mapping[TaskId, Task | None]) -> tuple[Task, ...]:
    """The tasks, by id, with those that have changed or come, and without those that are None now."""
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
