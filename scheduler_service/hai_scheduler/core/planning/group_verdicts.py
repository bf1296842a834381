"""The verdicts of one node group: why each waiting task waits, computed when a caller asks (docs/scheduling.md)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet

from hai_scheduler.core.capacity.reservation import Reservation
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.model.verdicts import Verdict, VerdictKind
from hai_scheduler.core.ordering.positions import Queue, QueuePosition
from hai_scheduler.core.planning.diagnosis import Diagnosis
from hai_scheduler.core.planning.group_state import GroupState
from hai_scheduler.core.planning.verdict_data import VerdictData, Wait


class GroupVerdicts:
    """The verdicts of one node group, computed from the state at the end of the plan. Only results are cached here."""

    def __init__(
        self,
        state: GroupState,
        queue: Queue,
        draining: AbstractSet[TaskId],
        reservations: Mapping[Priority, Reservation],
        *,
        paused: bool,
    ) -> None:
        """Take the state at the end of a plan.

        Args:
            state: The numbers of the node group.
            queue: The waiting tasks in order.
            draining: Tasks for which nodes are being freed (B3).
            reservations: The reservations for the heads of the queue, by priority (B1).
            paused: Whether the platform is paused.
        """
        #: The name of the node group.
        self.group = state.group
        #: The reservations for the heads of the queue, by priority (B1).
        self.reservations = reservations
        self._pending = state.pending
        self._rules = state.rules
        self._queue = queue
        self._draining = draining
        self._diagnosis = Diagnosis(state, reservations, paused=paused)
        self._data = VerdictData(state, self._diagnosis, reservations)
        #: Kinds that have been computed.
        self._kinds: dict[TaskId, VerdictKind] = {}

    @property
    def ids(self) -> Collection[TaskId]:
        """Ids of the tasks that wait."""
        return self._pending.ids

    def kind_of(self, task_id: TaskId) -> VerdictKind:
        """Return what the task waits for. Raises KeyError if the task does not wait."""
        kind = self._known(task_id)
        if kind is None:
            task = self._pending.tasks[task_id]
            kind = self._kinds[task_id] = self._diagnosis.kind(task, self._position_of(task))
        return kind

    def level_of(self, task_id: TaskId) -> Priority:
        """Return the effective priority of the task (Q4). Raises KeyError if the task does not wait."""
        held = self._pending.held.get(task_id)
        if held is not None:
            return held
        task = self._pending.tasks[task_id]
        return self._queue.level_of(task, self._rank_of(task))

    def in_order(self, after: int = 0) -> Iterator[tuple[int, Task]]:
        """Yield number and task of the waiting tasks: first the queue from its position `after` on, then held tasks.

        The numbers of the queue are the positions, in which tasks count that the plan has just started and that are
        left out here. Held tasks, which have no position, go on from there by their ids.
        """
        tasks = self._pending.tasks
        for number, task in self._queue.in_order(after):
            if task.id in tasks:
                yield number, tasks[task.id]
        for number, task_id in enumerate(sorted(self._pending.held), self._queue.length + 1):
            if number > after:
                yield number, tasks[task_id]

    @property
    def held(self) -> int:
        """How many tasks are held by their owners."""
        return len(self._pending.held)

    def verdict(self, task_id: TaskId) -> Verdict:
        """Return the whole verdict of the task. Raises KeyError if the task does not wait."""
        wait = self._wait(task_id)
        details = self._data.details(wait)
        return Verdict(
            kind=wait.kind,
            priority=wait.priority,
            position=wait.position,
            earliest_start=details.earliest_start,
            data=details.data,
            holders=details.holders,
        )

    def _known(self, task_id: TaskId) -> VerdictKind | None:
        """Return the kind of the task's verdict if it is known without a diagnosis, else None."""
        if task_id in self._pending.held:
            return VerdictKind.HELD
        return VerdictKind.DRAINING if task_id in self._draining else self._kinds.get(task_id)

    def _wait(self, task_id: TaskId) -> Wait:
        task = self._pending.tasks[task_id]
        if task_id in self._pending.held:
            return Wait(VerdictKind.HELD, task, self._pending.held[task_id], None, 0.0)
        place = self._position_of(task)
        kind = self._known(task_id)
        if kind is None:
            kind = self._kinds[task_id] = self._diagnosis.kind(task, place)
        return Wait(kind, task, place.priority, place.position, place.precedence)

    def _rank_of(self, task: Task) -> float:
        return self._rules.precedences([task])[0]

    def _position_of(self, task: Task) -> QueuePosition:
        return self._queue.position_of(task, self._rank_of(task))
