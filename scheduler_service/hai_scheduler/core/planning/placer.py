"""Nodes for a waiting task, chosen by `placement` among those that are open to it (rules F1, F2, B3)."""

from __future__ import annotations

from collections.abc import Collection

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.nodes.placement import choose
from hai_scheduler.core.planning.group_state import GroupState
from hai_scheduler.core.planning.pending import PendingTask


class Placer:
    """Finds nodes for gangs. It takes none: the nodes that it finds stay open until a decision takes them."""

    def __init__(self, state: GroupState) -> None:
        self._capacity = state.capacity
        self._nodes = state.nodes
        self._most_across = state.policy.max_cross_zone

    def now(self, pending: PendingTask, *, passing: bool) -> tuple[str, ...] | None:
        """Return nodes on which the task can start now, or None; `passing`: it may use nodes kept for the head (B2)."""
        task, priority, capacity = pending.task, pending.priority, self._capacity
        across = task.nodes > 1 and self.may_cross(task, priority, soon=False)
        if passing or self._nodes.differ(task, priority):
            own = capacity.promised.to(task) if task.promise else []
            kept = self._nodes.now_among(own, task, priority, reserved=passing)
            if len(kept) >= task.nodes and (chosen := self.choose(kept, task, across)) is not None:
                return chosen
            names = self._nodes.now(task, priority, reserved=passing)
            if len(own) == task.nodes:  # its own nodes are being freed: it does not take what is promised to others
                names = self._nodes.without_others(names, task)
            return self.choose(names, task, across)
        if capacity.count_open(task.gpus) < task.nodes:
            return None
        if task.gpus is None:
            return choose(capacity.pools.empty, task.nodes, across=across)
        if task.nodes == 1 and (name := capacity.pools.best_shared(task.gpus)) is not None:
            return (name,)
        if task.nodes == 1:
            return choose(capacity.pools.empty, 1, across=True)
        return self.choose(self._nodes.now(task, priority), task, across)

    def promised(self, task: Task, priority: Priority) -> tuple[str, ...] | None:
        """Return the nodes promised to the task, or None unless each is free or being freed, and open to it (B3)."""
        soon = self._nodes.soon_among(task.promise, task, priority)
        own = [*soon, *self._nodes.now_among(task.promise, task, priority)]
        return self.choose(own, task, self.may_cross(task, priority, soon=True))

    def choose(self, names: Collection[str], task: Task, across: bool) -> tuple[str, ...] | None:
        """Choose nodes for the gang, or None; those promised to others only if there are too few without them (B3)."""
        good = self._nodes.without_others(names, task)
        chosen = choose(self._nodes.by_leaf(good), task.nodes, across=across)
        if chosen is None and len(good) < len(names):
            chosen = choose(self._nodes.by_leaf(names), task.nodes, across=across)
        return chosen

    def may_cross(self, task: Task, priority: Priority, *, soon: bool) -> bool:
        """Whether the task may span zones now or, if `soon`, once the runs that are leaving have left (F2)."""
        return self._capacity.crossing(task, priority, soon=soon) < self._most_across
