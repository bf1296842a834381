"""Promises of nodes that are being freed, and the quota that goes with them (rule B3)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.planning.group_state import GroupState
from hai_scheduler.core.planning.placer import Placer


class Promises:
    """Makes, keeps and ends promises to waiting tasks.

    Invariant: before and after each step of the walk through the queue, quota is set aside for exactly the tasks to
    which `GroupCapacity` promises nodes. While the walk examines a task, the task's quota counts as free; if an AUTO
    task falls to a lower priority then (Q4), its quota stays free until the walk comes to the task there.
    """

    def __init__(self, state: GroupState, placer: Placer) -> None:
        self._capacity = state.capacity
        self._accounts = state.accounts
        self._pending = state.pending
        self._in_quota = state.in_quota
        self._placer = placer
        #: The priority at which quota is set aside, by task.
        self._quota: dict[TaskId, Priority] = {}
        self._renewed: set[TaskId] = set()

    @property
    def renewed(self) -> AbstractSet[TaskId]:
        """Tasks for which nodes are being freed: the walk made their promises, or confirmed them."""
        return self._renewed

    def level_of(self, task: Task) -> Priority | None:
        """Return the priority at which quota is set aside for the task; None: no quota is."""
        return self._quota.get(task.id)

    def keep(self, tasks: Sequence[Task]) -> None:
        """Keep the promises of earlier plans to these tasks, each one whole or not at all.

        The nodes of a promise that cannot be kept are open to others at once, so that no node idles; the task then
        waits at its place in the queue like all others.
        """
        for task in tasks:
            level = self._accounts.level_of(task)
            names = self._placer.promised(task, level) if self._in_quota(task, level) else None
            if names is None:
                self._pending.promise(task, frozenset())
            else:
                self._capacity.promise(names, task, level)
                self._set_aside(task, level)

    def lapse(self, priority: Priority) -> None:
        """End the promises at that priority which cannot be kept, as higher tasks have taken the right to span zones.

        The nodes are open to others before any task of the priority is examined: no turn ends for one that can have
        these nodes instead (P4).
        """
        for task_id in [task_id for task_id, level in self._quota.items() if level is priority]:
            task = self._pending.tasks[task_id]
            # Only the right to span zones can be missing: a promise that has lost a node has ended already.
            if self._capacity.node_group.spans_zones(task.promise) and self._placer.promised(task, priority) is None:
                self.end(task)

    def make(self, task: Task, priority: Priority, names: tuple[str, ...]) -> None:
        """Promise these nodes to the task, in place of its earlier promise; lower promises on them give way."""
        self._capacity.release(task)
        self.give_way(self._capacity.promise(names, task, priority))
        self._set_aside(task, priority)
        if task.promise != frozenset(names):
            self._pending.promise(task, frozenset(names))
        self._renewed.add(task.id)

    def give_way(self, task_ids: Iterable[TaskId]) -> None:
        """End the promises to these tasks, which a task of higher priority has displaced."""
        for task_id in sorted(task_ids):
            self.end(self._pending.tasks[task_id])

    def end(self, task: Task) -> None:
        """End the promise to the task: its nodes and its quota are open to others at once."""
        self._capacity.release(task)
        self.return_quota(task)
        self._pending.promise(task, frozenset())

    def return_quota(self, task: Task) -> None:
        """Count the quota that was set aside for the task as free."""
        priority = self._quota.pop(task.id, None)
        if priority is not None:
            self._accounts.add(task.user, priority, -self._accounts.units(task))

    def _set_aside(self, task: Task, priority: Priority) -> None:
        self._accounts.add(task.user, priority, self._accounts.units(task))
        self._quota[task.id] = priority

    def check(self, tasks: Collection[Task]) -> None:
        """Raise AssertionError unless nodes, quota and the waiting tasks agree about who is promised what."""
        assert self._capacity.promised.tasks() == self._quota.keys(), "nodes without quota, or quota without nodes"
        for task in tasks:
            there = frozenset(self._capacity.promised.to(task))
            assert task.promise == there, f"task {task.id} is promised {task.promise}, the capacity keeps {there}"
