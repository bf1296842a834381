"""Reservations: the earliest start of a task, and the nodes for it (rules B1, B2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from heapq import nsmallest
from operator import itemgetter
from typing import NamedTuple

from hai_scheduler.core.capacity.group_capacity import GroupCapacity
from hai_scheduler.core.capacity.node_states import NodeState, held_by
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.rules import Rules
from hai_scheduler.core.ordering.turns import Turn

#: A time, and the nodes of which a task can have its part from then on. It is a plain tuple, as each reservation makes
#: one for every turn.
_Opening = tuple[datetime, Sequence[str]]


class _OpenNode(NamedTuple):
    """A node of which a task can have its part from a time on; the soonest sorts first, then by name."""

    at: datetime
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Nodes that the head of the queue can have at the time `at`."""

    task: Task
    priority: Priority
    precedence: float
    at: datetime
    nodes: tuple[str, ...]


def earliest(
    task: Task, priority: Priority, precedence: float, capacity: GroupCapacity, rules: Rules
) -> Reservation | None:
    """Return the reservation for a task: the earliest time at which it can have enough nodes, and these nodes.

    It is found from free nodes, deadlines of leaving runs, ends of turns for equals (P2), tasks of lower priority (P1)
    and time limits. GPUs that are promised to others do not count. The nodes may lie in several zones once few
    enough other runs span zones (F2).

    Args:
        task: The waiting task.
        priority: Its effective priority.
        precedence: Its precedence among equals, by `Rules.precedences`.
        capacity: The GPUs of the node group.
        rules: The rules of the discipline.

    Returns:
        The reservation, or None if the time is not known.
    """
    if not capacity.node_group.can_ever(task):
        return None
    leaves = _Leaves(task, priority, precedence, rules)
    openings = _openings(task, priority, capacity, leaves)
    within = (_first(openings, task.nodes, capacity, zone) for zone in capacity.node_group.zones)
    options = [(option[-1].at, option) for option in within if option]
    across_at = _across_at(task, priority, capacity, leaves) if len(capacity.node_group.zones) > 1 else None
    if across_at is not None and (option := _first(openings, task.nodes, capacity, None)):
        options.append((max(across_at, option[-1].at), option))
    if not options:
        return None
    at, best = min(options, key=lambda option: option[0])  # of equals the first: within a zone (F1)
    return Reservation(
        task=task, priority=priority, precedence=precedence, at=at, nodes=tuple(node.name for node in best)
    )


def _across_at(task: Task, priority: Priority, capacity: GroupCapacity, leaves: _Leaves) -> datetime | None:
    """Return from when the task may span zones (F2); None if it is not known."""
    too_many = capacity.crossing(task, priority, soon=False) + 1 - leaves.most_across
    if too_many <= 0:
        return leaves.now
    times = sorted(when for turn in capacity.cross_zone_turns if (when := leaves.at(turn)) is not None)
    return times[too_many - 1] if len(times) >= too_many else None


def _first(openings: list[_Opening], nodes: int, capacity: GroupCapacity, zone: str | None) -> list[_OpenNode]:
    """Return the nodes that are available first, in one zone or (None) in all; ties by name. Empty if too few are."""
    found: list[tuple[datetime, str]] = []  # plain ones: most of them are not returned
    zone_of = capacity.node_group.zone_of
    for at, names in openings:
        if len(found) >= nodes and at > found[-1][0]:
            break
        found += [(at, name) for name in names if zone is None or zone_of[name] == zone]
    return [_OpenNode(at, name) for at, name in nsmallest(nodes, found)] if len(found) >= nodes else []


def _openings(task: Task, priority: Priority, capacity: GroupCapacity, leaves: _Leaves) -> list[_Opening]:
    """Return when the task can have its part of each node, where that is known; soonest first."""
    if capacity.node_group.mixed and task.gpus is not None:
        found = _openings_of(capacity.node_states.all(), task, priority, leaves)
    else:
        found = _openings_of(capacity.others, task, priority, leaves)
        nodes = capacity.gang_nodes - task.avoid
        known = [
            turn for turn in capacity.gangs if turn.priority <= priority or turn.ends_at is not None or turn.leaving
        ]
        for turn in known:
            when = leaves.at(turn)
            if when is not None:
                whole = nodes.issuperset(turn.nodes)
                found.append((when, turn.nodes if whole else [name for name in turn.nodes if name in nodes]))
    return sorted(found, key=itemgetter(0))


def _openings_of(node_states: Iterable[NodeState], task: Task, priority: Priority, leaves: _Leaves) -> list[_Opening]:
    suiting = [node_state for node_state in node_states if node_state.suits(task)]
    times = [(_available(node_state, task, priority, leaves), (node_state.name,)) for node_state in suiting]
    return [(when, names) for when, names in times if when is not None]


class _Leaves:
    """The times at which turns can end for the task; each time is computed once for all nodes of a turn."""

    def __init__(self, task: Task, priority: Priority, precedence: float, rules: Rules) -> None:
        self._ask = (task, priority, precedence, rules)
        self._priority = priority
        self._known: dict[TaskId, datetime | None] = {}
        self.now = rules.now
        self.most_across = rules.policy.max_cross_zone

    def at(self, turn: Turn) -> datetime | None:
        """Return the same as `leaves_at`, with short cuts for the most frequent cases."""
        if not turn.leaving:
            if turn.priority > self._priority:
                return turn.ends_at if turn.ends_at is None or turn.ends_at > self.now else self.now
            if turn.priority < self._priority:
                return self.now
        task_id = turn.task.id
        if task_id not in self._known:
            self._known[task_id] = leaves_at(turn, *self._ask)
        return self._known[task_id]


def _available(node_state: NodeState, task: Task, priority: Priority, leaves: _Leaves) -> datetime | None:
    """Return when the task can have its part of the node; None if it is not known."""
    have = len(node_state.free) - node_state.kept_from(task, priority)
    want = node_state.amount(task)
    if have >= want:
        return leaves.now
    times = [(when, held_by(turn, node_state)) for turn in node_state.turns if (when := leaves.at(turn)) is not None]
    if len(times) > 1:
        times.sort()
    for when, gpus in times:
        have += gpus
        if have >= want:
            return when
    return None


def passes(task: Task, head: Reservation, rules: Rules) -> bool:
    """Whether a task may use nodes that are reserved for the head, because it gives them back in time (B2).

    The task does so if its time limit ends it before the head can start, or if the head may preempt it by then.
    """
    until = head.at - rules.now
    if task.time_limit is not None and task.time_limit - task.served <= until:
        return True
    if until < rules.policy.min_run:
        return False  # no turn ends for an equal sooner (P2)
    if task.user == head.task.user:
        return False  # P3: the task would not have to leave for the head
    gives_back = rules.gives_back(task, head.precedence)
    return gives_back is not None and gives_back <= until


def leaves_at(turn: Turn, task: Task, priority: Priority, precedence: float, rules: Rules) -> datetime | None:
    """Return when the turn can end for a waiting task of that priority and precedence; None if it is not known."""
    if turn.leaving:
        deadline = rules.now + turn.task.grace if turn.run.notice is None else turn.run.notice.deadline
        return max(rules.now, deadline)
    if turn.priority < priority:
        return rules.now
    when = turn.ends_at
    if turn.priority == priority and turn.task.user != task.user:
        gives_back = rules.equal_at(turn, precedence)
        if when is None or (gives_back is not None and gives_back < when):
            when = gives_back
    return when if when is None or when > rules.now else rules.now
