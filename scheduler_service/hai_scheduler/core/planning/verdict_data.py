"""The data of a verdict: which tasks hold the nodes, how many are needed, until when (docs/scheduling.md)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final, NamedTuple

from hai_scheduler.core.capacity.reservation import Reservation, earliest
from hai_scheduler.core.lifecycle.start_backoff import why_broken, why_not_started
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.model.verdicts import Holder, Value, VerdictKind
from hai_scheduler.core.ordering.quota import QuotaAccount
from hai_scheduler.core.ordering.task_buckets import RequestShape, shape_of
from hai_scheduler.core.ordering.turns import Turn
from hai_scheduler.core.planning.diagnosis import Diagnosis
from hai_scheduler.core.planning.group_state import GroupState


@dataclass(frozen=True, slots=True)
class Wait:
    """A waiting task at the end of the plan, and its kind of verdict; position None while it is held."""

    kind: VerdictKind
    task: Task
    priority: Priority
    position: int | None
    precedence: float


#: How many kinds of pods from outside of HAI a verdict names.
_MOST_CROWDS: Final = 3


class Details(NamedTuple):
    """The parts of a verdict other than its kind."""

    #: When the task can start at the earliest; None: it cannot be said.
    earliest_start: datetime | None = None
    holders: tuple[Holder, ...] = ()
    data: Mapping[str, Value] = MappingProxyType({})


class VerdictData:
    """Finds the details of a verdict when it is asked for. Results that many tasks share are computed once."""

    def __init__(self, state: GroupState, diagnosis: Diagnosis, reservations: Mapping[Priority, Reservation]) -> None:
        """Take the state at the end of a plan; `reservations` are those for the heads of the queue (B1)."""
        self._state = state
        self._capacity, self._rules = state.capacity, state.rules
        self._diagnosis = diagnosis
        self._reservations = reservations
        self._holders: dict[tuple[Priority, str] | None, tuple[Holder, ...]] = {}
        self._starts: dict[tuple[str, Priority, float, RequestShape], datetime | None] = {}
        #: How many nodes orphaned runs hold; None: not counted yet.
        self._orphaned: int | None = None

    def details(self, wait: Wait) -> Details:
        """Return the details for the task's kind of verdict."""
        make = _DETAILS.get(wait.kind)
        return make(self, wait) if make else Details()

    def _never(self, wait: Wait) -> Details:
        task = wait.task
        data: dict[str, Value] = {"needs": task.nodes, "gpus": task.gpus}
        if not self._capacity.node_group.can_ever(task):
            cap, cause = self._capacity.node_group.most(task.gpus), "group"
            if task.gpus is not None and task.gpus > self._capacity.node_group.gpus_per_node:
                cap, cause = self._capacity.node_group.gpus_per_node, "gpus"
            return Details(data={**data, "cap": cap, "cause": cause})
        account = self._refusing(wait, lambda account, units: account.could_ever_fit(units))
        return Details(data={**data, "cap": account.cap.limit, "cause": account.cap.source})

    def _quota(self, wait: Wait) -> Details:
        account = self._refusing(wait, lambda account, units: account.fits(units))
        data: dict[str, Value] = {
            "needs": wait.task.nodes,
            "gpus": wait.task.gpus,
            "subject": account.cap.source,
            "limit": account.cap.limit,
            "used": account.used,
        }
        return Details(data=data)

    def _refusing(self, wait: Wait, good: _Test) -> QuotaAccount:
        units = self._state.accounts.units(wait.task)
        accounts = self._state.accounts.of(wait.task.user, wait.priority)
        return next((account for account in accounts if not good(account, units)), accounts[0])

    def _retry(self, wait: Wait) -> Details:
        task = wait.task
        unstarted = why_not_started(task)
        if unstarted is not None:
            most = self._state.policy.max_failed_starts
            starts: dict[str, Value] = {"starts": task.failed_starts, "of": most, "why": unstarted}
            return Details(task.not_before, data={"until": task.not_before, **starts})
        broken = why_broken(task)
        if broken is not None:
            row: dict[str, Value] = {"starts": task.failed_starts, "of": self._state.policy.max_failed_starts}
            return Details(task.not_before, data={"until": task.not_before, **row, "broken": broken})
        of = task.retry.count if task.retry else 0
        return Details(task.not_before, data={"until": task.not_before, "retries": task.retries, "of": of})

    def _room(self, wait: Wait) -> Details:
        """Return the details of CAPACITY and TURN: the tasks that hold the nodes, and until when if it is known."""
        when, holders = self._earliest_start(wait), self._held_by(None)
        if wait.kind is VerdictKind.TURN:
            holders = self._held_by((wait.priority, wait.task.user)) or holders
        data = self._needs(wait)
        if wait.kind is VerdictKind.TURN:
            return Details(when, holders, {**data, "until": when})
        unsaved = self._unsaved(wait)
        if unsaved is not None:
            data |= {"unsaved": unsaved.task.id, "unsaved_runs": unsaved.task.unsaved}
        return Details(when, holders, data)

    def _unsaved(self, wait: Wait) -> Turn | None:
        """Return the largest equal turn of another user that stays only because it does not save (P8); None: none."""
        if not self._rules.rotates:
            return None
        kept = [
            turn
            for turn in self._state.turns.values()
            if turn.priority == wait.priority
            and turn.task.user != wait.task.user
            and not turn.leaving
            and self._rules.stays(turn)
        ]
        return min(kept, key=lambda turn: (-len(turn.nodes), turn.task.id), default=None)

    def _held_by(self, among: tuple[Priority, str] | None) -> tuple[Holder, ...]:
        """Return the tasks that hold nodes: all, or those up to a priority that are not of a certain user."""
        if among not in self._holders:
            turns = [*self._state.turns.values(), *self._capacity.started]
            if among is not None:
                turns = [turn for turn in turns if turn.priority <= among[0] and turn.task.user != among[1]]
            self._holders[among] = _holders(turns)
        return self._holders[among]

    def _earliest_start(self, wait: Wait) -> datetime | None:
        """Return the earliest start of the task; it is shared by all tasks like it without a promise (B1, F3, P5)."""
        task = wait.task
        kept = self._reservations.get(wait.priority)
        if kept is not None and kept.task.id == task.id:
            return kept.at
        key = task.user, wait.priority, wait.precedence, shape_of(task)
        plain = not (task.avoid or task.promise or task.left_for is not None)
        if not plain or key not in self._starts:
            found = earliest(task, wait.priority, wait.precedence, self._capacity, self._rules)
            when = found.at if found is not None else None
            if not plain:
                return when
            self._starts[key] = when
        return self._starts[key]

    def _reserved(self, wait: Wait) -> Details:
        kept = self._reservations.get(wait.priority)
        data = self._needs(wait)
        if kept is None:
            return Details(data={**data, "until": None})
        head = Holder.of(kept.task, kept.priority, kept.task.nodes)
        return Details(None, (head,), {**data, "until": kept.at})

    def _topology(self, wait: Wait) -> Details:
        zones: defaultdict[str, int] = defaultdict(int)
        for name in self._state.nodes.now(wait.task, wait.priority):
            zones[self._capacity.node_group.zone_of[name]] += 1
        return Details(data={**self._needs(wait), "together": max(zones.values(), default=0)})

    def _needs(self, wait: Wait) -> dict[str, Value]:
        kept = self._diagnosis.kept_from(wait.task, wait.priority)
        there = self._diagnosis.free(wait.task, wait.priority)
        free = sum(name not in kept for name in there)
        found: dict[str, Value] = {"needs": wait.task.nodes, "gpus": wait.task.gpus, "free": free}
        if self._orphaned is None:
            self._orphaned = sum(node.orphan is not None for node in self._capacity.node_group.nodes.values())
        if self._orphaned:
            found["orphaned"] = self._orphaned
        return {**found, **self._crowded(there, wait.task)}

    def _crowded(self, there: Collection[str], task: Task) -> dict[str, Value]:
        """Return how many nodes that the task lacks carry pods from outside of HAI, and whose these are (F5)."""
        group = self._capacity.node_group
        nodes = [group.nodes[name] for name in sorted((group.crowded & group.usable).difference(there))]
        nodes = [node for node in nodes if task.gpus is None or task.gpus <= node.gpus]
        whose = list(dict.fromkeys(node.crowd for node in nodes if node.crowd))[:_MOST_CROWDS]
        return {"crowded": len(nodes), "crowd": "; ".join(whose)} if nodes else {}

    def _draining(self, wait: Wait) -> Details:
        task, now = wait.task, self._rules.now
        names = self._capacity.promised.to(task)
        node_states = [self._capacity.node_states[name] for name in names]
        across = self._capacity.cross_zone_turns if self._capacity.node_group.spans_zones(names) else ()
        turns = (*(turn for node_state in node_states for turn in node_state.turns), *across)
        leaving = {turn.task.id: turn for turn in turns if turn.leaving}
        deadlines = [
            now + turn.task.grace if turn.run.notice is None else turn.run.notice.deadline for turn in leaving.values()
        ]
        deadline = max(deadlines, default=None)
        free = sum(len(state.free) - state.taken >= state.amount(task) for state in node_states)
        data: dict[str, Value] = {
            "needs": task.nodes,
            "gpus": task.gpus,
            "free": free,
            "coming": task.nodes - free,
            "deadline": deadline,
        }
        return Details(deadline, _holders(leaving.values()), data)


_Test = Callable[[QuotaAccount, int], bool]

_DETAILS: Mapping[VerdictKind, Callable[[VerdictData, Wait], Details]] = {
    VerdictKind.NEVER: VerdictData._never,
    VerdictKind.QUOTA: VerdictData._quota,
    VerdictKind.RETRY: VerdictData._retry,
    VerdictKind.CAPACITY: VerdictData._room,
    VerdictKind.TURN: VerdictData._room,
    VerdictKind.RESERVED: VerdictData._reserved,
    VerdictKind.TOPOLOGY: VerdictData._topology,
    VerdictKind.DRAINING: VerdictData._draining,
}


def _holders(turns: Iterable[Turn]) -> tuple[Holder, ...]:
    """Return the holders for these turns, most nodes first."""
    found = [Holder.of(turn.task, turn.run.priority, len(turn.nodes)) for turn in turns]
    return tuple(sorted(found, key=lambda holder: (-holder.nodes, holder.task_id)))
