"""The head of the queue: its reservation, and the tasks that may backfill the reserved nodes (rules B1, B2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hai_scheduler.core.capacity.group_capacity import GroupCapacity
from hai_scheduler.core.capacity.preemption import CandidateIndex
from hai_scheduler.core.capacity.reservation import Reservation, earliest, passes
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.rules import Rules
from hai_scheduler.core.planning.pending import PendingTask


class QueueHead:
    """The reservation for the head: the first task of the current priority that has quota and cannot start.

    `GroupCapacity` keeps exactly the nodes of `reservation` free; None: it keeps no node free.
    """

    def __init__(self, capacity: GroupCapacity, candidate_index: CandidateIndex, rules: Rules) -> None:
        self.reservation: Reservation | None = None
        self._capacity = capacity
        self._candidate_index = candidate_index
        self._rules = rules
        self._by_priority: dict[Priority, Reservation] = {}

    @property
    def by_priority(self) -> Mapping[Priority, Reservation]:
        """The last reservation at each priority that has had one."""
        return self._by_priority

    @property
    def keeps_free(self) -> bool:
        """Whether there are free GPUs that only tasks which may pass the head can use."""
        return self.reservation is not None and self._capacity.keeps_free

    def is_passed_by(self, task: Task) -> bool:
        """Whether the task may use the nodes that are reserved for the head (B2)."""
        head = self.reservation
        return head is not None and self._capacity.keeps_free and passes(task, head, self._rules)

    def stays_before(self) -> Callable[[Task], bool]:
        """Return a test whether a task may not pass the current head (B2), for this head also if another follows."""
        head, rules = self.reservation, self._rules
        if head is None or not self._capacity.keeps_free:
            return lambda _: True
        return lambda task: not passes(task, head, rules)

    def reserve_for(self, pending: PendingTask) -> None:
        """Make the task the head, if the time at which it can have its nodes is known (B1)."""
        found = earliest(pending.task, pending.priority, pending.precedence, self._capacity, self._rules)
        self._candidate_index.work += len(self._capacity.node_group.nodes)
        if found is not None:
            self.reservation = self._by_priority[pending.priority] = found
            self._keep(found.nodes)

    def release(self) -> None:
        """Open the nodes reserved for the head: tasks of lower priority on them can be preempted (B2, P1)."""
        if self.reservation is not None:
            self.reservation = None
            self._keep(())

    def _keep(self, names: tuple[str, ...]) -> None:
        self._capacity.reserve(names)
        self._candidate_index.forget()
