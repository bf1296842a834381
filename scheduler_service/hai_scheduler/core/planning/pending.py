"""The waiting tasks of one node group while a plan changes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from hai_scheduler.core.capacity.preemption import RequestClass
from hai_scheduler.core.model.decisions import Keep
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task


@dataclass(slots=True)
class PendingTask:
    """A waiting task at its turn in the walk through the queue."""

    task: Task
    priority: Priority
    precedence: float

    @property
    def kind(self) -> RequestClass:
        """The kind of the task's request for nodes of others."""
        return RequestClass(self.priority, self.precedence, self.task.gpus)


class PendingTasks:
    """The waiting tasks of a node group. Only this class changes which tasks wait and what they are promised."""

    def __init__(self, tasks: Mapping[TaskId, Task]) -> None:
        """Begin with the tasks that wait for a turn; `hold` adds held tasks."""
        self._tasks = dict(tasks)
        self._held: dict[TaskId, Priority] = {}
        #: The promises with which the plan began, of each task whose promise it has changed.
        self._promised_before: dict[TaskId, frozenset[str]] = {}

    @property
    def tasks(self) -> Mapping[TaskId, Task]:
        """Every waiting task, with the held ones."""
        return self._tasks

    @property
    def held(self) -> Mapping[TaskId, Priority]:
        """The held tasks, and their effective priorities (Q4)."""
        return self._held

    @property
    def ids(self) -> AbstractSet[TaskId]:
        """The ids of all tasks that wait."""
        return self._tasks.keys()

    def hold(self, task: Task, priority: Priority) -> None:
        """Add a held task."""
        self._tasks[task.id] = task
        self._held[task.id] = priority

    def start(self, task: Task) -> None:
        """Remove a task that starts."""
        del self._tasks[task.id]

    def allow_all_nodes(self, task: Task) -> Task:
        """Let the task use the nodes that it avoids, and return the changed task (F3)."""
        changed = self._tasks[task.id] = replace(task, avoid=frozenset())
        return changed

    def promise(self, task: Task, names: frozenset[str]) -> None:
        """Promise these nodes to the task, in place of its earlier promise (B3)."""
        self._promised_before.setdefault(task.id, task.promise)
        self._tasks[task.id] = replace(task, promise=names)

    def changed_promises(self) -> Iterator[Keep]:
        """Yield a decision for each changed promise to a task that goes on waiting."""
        for task_id, before in self._promised_before.items():
            task = self._tasks.get(task_id)
            if task is not None and task.promise != before:
                yield Keep(task_id=task_id, nodes=task.promise)
