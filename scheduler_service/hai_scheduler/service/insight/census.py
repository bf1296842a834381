"""Counts the unfinished tasks of each kind, from the changes since the last count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.core.model.verdicts import Verdict, Verdicts
from hai_scheduler.core.planning.plan_cache import differences
from hai_scheduler.service.shared.gc_paused import gc_paused


class TaskKind(NamedTuple):
    """The key by which tasks are counted."""

    group: str
    state: TaskState
    #: The task's present level (Q4); None for a task of AUTO before its first tick.
    level: Priority | None


@dataclass(frozen=True, slots=True)
class Count:
    """The number of tasks of one kind, and of their nodes."""

    tasks: int
    #: Nodes that the tasks hold or wait for.
    nodes: int


class Census:
    """The counts of the tasks and verdicts of the latest call.

    Only the level of a waiting task of AUTO depends on its verdict; other tasks know their level.
    """

    def __init__(self) -> None:
        self._tasks: Sequence[Task] = ()
        self._verdicts: Mapping[TaskId, Verdict] = {}
        self._known: Counter[TaskKind] = Counter()
        self._nodes: Counter[TaskKind] = Counter()
        #: Tasks whose level depends on their verdict.
        self._auto: dict[TaskId, Task] = {}
        self._found: Mapping[TaskKind, Count] = {}

    def of(self, tasks: Sequence[Task], verdicts: Mapping[TaskId, Verdict]) -> Mapping[TaskKind, Count]:
        """The count of each kind; kinds without tasks are left out. `tasks` are in the order of their ids."""
        if tasks is not self._tasks or verdicts is not self._verdicts:
            gone, come = differences(self._tasks, tasks)
            for task in gone:
                self._take(task, -1)
            for task in come:
                self._take(task, 1)
            self._tasks, self._verdicts = tasks, verdicts
            self._found = self._counts()
        return self._found

    def _take(self, task: Task, times: int) -> None:
        level = own_level(task)
        if level is None:
            self._auto.pop(task.id, None)
            if times > 0:
                self._auto[task.id] = task
            return
        kind = TaskKind(task.group, task.state, level)
        self._known[kind] += times
        self._nodes[kind] += times * task.nodes

    def _counts(self) -> Mapping[TaskKind, Count]:
        count, nodes = self._known.copy(), self._nodes.copy()
        with gc_paused():
            for task in self._auto.values():
                kind = TaskKind(task.group, task.state, level_of(task, self._verdicts))
                count[kind] += 1
                nodes[kind] += task.nodes
        return {kind: Count(number, nodes[kind]) for kind, number in count.items() if number}


def own_level(task: Task) -> Priority | None:
    """The level of the task without its verdict: that of its run or, while it waits, the one asked for."""
    run = task.live_run
    return run.priority if run is not None else task.priority


def level_of(task: Task, verdicts: Mapping[TaskId, Verdict]) -> Priority | None:
    """The present level of the task (Q4); None if it is not known."""
    level = own_level(task)
    if level is None and task.state.waiting:
        level = _by_verdict(task.id, verdicts)
        if level is None and task.held:
            level = Priority.NORMAL
    if level is None and task.run is not None:
        level = task.run.priority
    return level


def _by_verdict(task_id: TaskId, verdicts: Mapping[TaskId, Verdict]) -> Priority | None:
    if isinstance(verdicts, Verdicts):
        return verdicts.level_of(task_id)  # faster than to build the whole verdict
    return verdicts[task_id].priority if task_id in verdicts else None
