"""Why each waiting task waits: the kind at once, the data when somebody asks (docs/scheduling.md)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet

from hai_scheduler.core.capacity.reservation import Reservation
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.model.verdicts import Verdict, VerdictKind
from hai_scheduler.core.ordering.places import Place, Queue
from hai_scheduler.core.planning.diagnosis import Diagnosis
from hai_scheduler.core.planning.group_state import GroupState
from hai_scheduler.core.planning.verdict_data import VerdictData, Wait


class Answers:
    """The verdicts of one node group, read as the whole plan leaves things. Nothing but what was found is kept here."""

    def __init__(
        self,
        state: GroupState,
        queue: Queue,
        draining: AbstractSet[TaskId],
        reservations: Mapping[Priority, Reservation],
        *,
        paused: bool,
    ) -> None:
        """`draining` are tasks for which nodes are being freed (B3); `reservations` are for heads of the queue (B1)."""
        #: For whom nodes are kept free, by priority (B1).
        self.reservations = reservations
        self._pending = state.pending
        self._rules = state.rules
        self._queue = queue
        self._draining = draining
        self._diagnosis = Diagnosis(state, reservations, paused=paused)
        self._data = VerdictData(state, self._diagnosis, reservations)
        #: Kinds that were asked for.
        self._kinds: dict[TaskId, VerdictKind] = {}

    @property
    def ids(self) -> Collection[TaskId]:
        """The tasks that wait."""
        return self._pending.ids

    def kind_of(self, task_id: TaskId) -> VerdictKind:
        """What the task waits for. Raises KeyError."""
        kind = self._known(task_id)
        if kind is None:
            task = self._pending.tasks[task_id]
            kind = self._kinds[task_id] = self._diagnosis.kind(task, self._place_of(task))
        return kind

    def level_of(self, task_id: TaskId) -> Priority:
        """What the task counts as (Q4). Raises KeyError."""
        held = self._pending.held.get(task_id)
        if held is not None:
            return held
        task = self._pending.tasks[task_id]
        return self._queue.level_of(task, self._rank_of(task))

    def verdict(self, task_id: TaskId) -> Verdict:
        """Everything about why the task waits. Raises KeyError."""
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
        """What the task waits for, if that need not be found; None if it must be."""
        if task_id in self._pending.held:
            return VerdictKind.HELD
        return VerdictKind.DRAINING if task_id in self._draining else self._kinds.get(task_id)

    def _wait(self, task_id: TaskId) -> Wait:
        task = self._pending.tasks[task_id]
        if task_id in self._pending.held:
            return Wait(VerdictKind.HELD, task, self._pending.held[task_id], None, 0.0)
        place = self._place_of(task)
        kind = self._known(task_id)
        if kind is None:
            kind = self._kinds[task_id] = self._diagnosis.kind(task, place)
        return Wait(kind, task, place.priority, place.position, place.rank)

    def _rank_of(self, task: Task) -> float:
        return self._rules.ranks([task])[0]

    def _place_of(self, task: Task) -> Place:
        return self._queue.place_of(task, self._rank_of(task))
