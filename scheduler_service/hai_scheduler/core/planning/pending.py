"""The tasks of one node group that wait, as a plan changes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from hai_scheduler.core.capacity.preemption import Kind
from hai_scheduler.core.model.decisions import Keep
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task


@dataclass(slots=True)
class PendingTask:
    """A waiting task when the queue comes to it."""

    task: Task
    priority: Priority
    rank: float

    @property
    def kind(self) -> Kind:
        """What the task may ask others for."""
        return Kind(self.priority, self.rank, self.task.gpus)


class PendingTasks:
    """The waiting tasks of a node group. Only this class changes which tasks wait and what they are promised."""

    def __init__(self, tasks: Mapping[TaskId, Task]) -> None:
        """`tasks` wait for a turn; those that their owners hold come in by `hold`."""
        self._tasks = dict(tasks)
        self._held: dict[TaskId, Priority] = {}
        #: The promises with which the plan began, of each task whose promise it has changed.
        self._promised_before: dict[TaskId, frozenset[str]] = {}

    @property
    def tasks(self) -> Mapping[TaskId, Task]:
        """Every task that waits, those that their owners hold among them."""
        return self._tasks

    @property
    def held(self) -> Mapping[TaskId, Priority]:
        """The tasks that their owners hold, and what they count as (Q4)."""
        return self._held

    @property
    def ids(self) -> AbstractSet[TaskId]:
        """The ids of all tasks that wait."""
        return self._tasks.keys()

    def hold(self, task: Task, priority: Priority) -> None:
        """Take in a task that its owner holds."""
        self._tasks[task.id] = task
        self._held[task.id] = priority

    def start(self, task: Task) -> None:
        """The task waits no more."""
        del self._tasks[task.id]

    def allow_all_nodes(self, task: Task) -> Task:
        """The task without the nodes that it was to avoid (F3)."""
        changed = self._tasks[task.id] = replace(task, avoid=frozenset())
        return changed

    def promise(self, task: Task, names: frozenset[str]) -> None:
        """The task is promised these nodes from now on, and no others (B3)."""
        self._promised_before.setdefault(task.id, task.promise)
        self._tasks[task.id] = replace(task, promise=names)

    def changed_promises(self) -> Iterator[Keep]:
        """The decisions that write down what this plan has changed in promises to tasks that go on waiting."""
        for task_id, before in self._promised_before.items():
            task = self._tasks.get(task_id)
            if task is not None and task.promise != before:
                yield Keep(task_id=task_id, nodes=task.promise)
