"""The unfinished tasks of one tick, and those with a live run: only these must be compared with the cluster."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from operator import attrgetter

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.planning.plan_cache import differences

_ID = attrgetter("id")


class Unfinished:
    """The unfinished tasks as they were read, with the changes of the present tick."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        """`tasks` are in the order of their ids."""
        self._tasks = tasks if isinstance(tasks, tuple) else tuple(tasks)
        self._changed: dict[TaskId, Task] = {}

    def __getitem__(self, task_id: TaskId) -> Task:
        """The task with its changes. Raises KeyError for a task that has ended or is unknown."""
        task = self._changed.get(task_id)
        if task is None:
            place = self._place(task_id)
            if place is None:
                raise KeyError(task_id)
            task = self._tasks[place]
        if task.state.ended:
            raise KeyError(task_id)
        return task

    def get(self, task_id: TaskId) -> Task | None:
        """The task with its changes; None for a task that has ended or is unknown."""
        try:
            return self[task_id]
        except KeyError:
            return None

    def put(self, task: Task) -> None:
        """Replace the task of the same id by this one; a task that has ended is removed."""
        place = self._place(task.id)
        if place is None or self._tasks[place] is not task or task.id in self._changed:
            self._changed[task.id] = task

    def all(self) -> tuple[Task, ...]:
        """All unfinished tasks, in the order of their ids; the same tuple until a task changes."""
        if self._changed:
            found = list(self._tasks)
            places = {task_id: place for task_id in self._changed if (place := self._place(task_id)) is not None}
            for task_id, place in places.items():
                found[place] = self._changed[task_id]
            for place in sorted((places[each] for each in places if self._changed[each].state.ended), reverse=True):
                del found[place]
            self._tasks, self._changed = tuple(found), {}
        return self._tasks

    def _place(self, task_id: TaskId) -> int | None:
        place = bisect_left(self._tasks, task_id, key=_ID)
        return place if place < len(self._tasks) and self._tasks[place].id == task_id else None


class LiveTasks:
    """Finds the tasks with a live run, from the differences to the previous call."""

    def __init__(self) -> None:
        self._tasks: Sequence[Task] = ()
        self._live: dict[TaskId, Task] = {}

    def of(self, tasks: Sequence[Task]) -> list[Task]:
        """The tasks with a live run among these unfinished tasks, in the order of their ids."""
        if tasks is not self._tasks:
            gone, come = differences(self._tasks, tasks)
            for task in gone:
                self._live.pop(task.id, None)
            self._live.update((task.id, task) for task in come if task.live_run is not None)
            self._tasks = tasks
        return sorted(self._live.values(), key=_ID)
