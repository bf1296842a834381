"""What each waiting task waits for, by the state of a node group at the end of its plan (docs/scheduling.md)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from hai_scheduler.core.capacity.reservation import Reservation, passes
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.model.verdicts import VerdictKind
from hai_scheduler.core.nodes.placement import choose
from hai_scheduler.core.ordering.positions import QueuePosition
from hai_scheduler.core.ordering.turns import Turn
from hai_scheduler.core.planning.group_state import GroupState


class Reach(NamedTuple):
    """How many nodes tasks of one priority may get sooner or later, with the turns and promises as they are."""

    nodes: int
    #: By user, how many of these nodes the user's own equal tasks hold, which do not leave for each other (P3).
    own: Mapping[str, int]


class Diagnosis:
    """Finds the kind of a task's verdict when it is asked for. Results that many tasks share are computed once."""

    def __init__(self, state: GroupState, reservations: Mapping[Priority, Reservation], *, paused: bool) -> None:
        """Take the state at the end of a plan; `reservations` are those for the heads of the queue (B1)."""
        self._state = state
        self._capacity, self._nodes, self._rules = state.capacity, state.nodes, state.rules
        self._reservations = reservations
        self._paused = paused
        self._reach: dict[tuple[Priority, int | None], Reach] = {}
        self._open: dict[tuple[Priority, int | None], list[str]] = {}

    def kind(self, task: Task, place: QueuePosition) -> VerdictKind:
        """Return what a task waits for that is not held and for which no nodes are being freed."""
        accounts = self._state.accounts
        units = accounts.units(task)
        if not self._capacity.node_group.can_ever(task) or not accounts.could_ever_fit(
            task.user, place.priority, units
        ):
            return VerdictKind.NEVER
        if self._paused:
            return VerdictKind.PAUSED
        if task.not_before is not None and task.not_before > self._rules.now:
            return VerdictKind.RETRY
        if not accounts.fits(task.user, place.priority, units):
            return VerdictKind.QUOTA
        return self._kind_of_room(task, place)

    def _kind_of_room(self, task: Task, place: QueuePosition) -> VerdictKind:
        """Return why a task that is within its quota has no nodes."""
        names = self.free(task, place.priority)
        kept = self.kept_from(task, place.priority)
        free = [name for name in names if name not in kept]
        if len(free) >= task.nodes and self._scattered(free, task, place.priority):
            return VerdictKind.TOPOLOGY
        if kept and len(names) >= task.nodes:
            return VerdictKind.RESERVED
        reach = self._within_reach(place.priority, task.gpus)
        return VerdictKind.TURN if reach.nodes - reach.own.get(task.user, 0) >= task.nodes else VerdictKind.CAPACITY

    def free(self, task: Task, priority: Priority) -> list[str]:
        """Return the nodes that are open to the task at the end of the plan, with those reserved for the head."""
        if self._nodes.differ(task, priority):
            return self._nodes.now(task, priority)
        key = (priority, task.gpus)
        if key not in self._open:
            self._open[key] = self._nodes.now(task, priority)
        return self._open[key]

    def kept_from(self, task: Task, priority: Priority) -> Collection[str]:
        """Return the nodes that are reserved for another task and that this task may not backfill (B1, B2)."""
        head = self._reservations.get(priority)
        if head is None or head.task.id == task.id or passes(task, head, self._rules):
            return ()
        return head.nodes

    def _scattered(self, names: Iterable[str], task: Task, priority: Priority) -> bool:
        """Whether the gang does not fit within one zone of these nodes, and too many tasks span zones already (F2)."""
        across = self._capacity.crossing(task, priority, soon=False) < self._state.policy.max_cross_zone
        return choose(self._nodes.by_leaf(names), task.nodes, across=across) is None

    def _within_reach(self, priority: Priority, gpus: int | None) -> Reach:
        """Return the nodes that are free, or whose holders may have to leave for a task of this priority."""
        key = (priority, gpus)
        if key not in self._reach:
            total = 0
            own: defaultdict[str, int] = defaultdict(int)
            for node_state in self._capacity.node_states.all():
                if not (node_state.usable and node_state.node.holds(gpus)):
                    continue
                if any(promise.priority >= priority for promise in node_state.promises):
                    continue
                if any(not turn.leaving and self._stays(turn, priority) for turn in node_state.turns):
                    continue
                total += 1
                for user in {turn.task.user for turn in node_state.turns if turn.priority == priority}:
                    own[user] += 1
            self._reach[key] = Reach(total, own)
        return self._reach[key]

    def _stays(self, turn: Turn, priority: Priority) -> bool:
        return turn.priority > priority or (turn.priority == priority and self._rules.stays(turn))
