"""Why each waiting task waits: the kind at once, the data when somebody asks (docs/scheduling.md)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from hai_scheduler.core.capacity.ledger import Ledger
from hai_scheduler.core.capacity.reservation import Reservation, earliest, passes
from hai_scheduler.core.lifecycle.starts import why_broken, why_not_started
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.model.verdicts import Holder, Value, Verdict, VerdictKind
from hai_scheduler.core.nodes.placement import choose
from hai_scheduler.core.ordering.parts import Size, size_of
from hai_scheduler.core.ordering.places import Place, Queue
from hai_scheduler.core.ordering.quota import Account, Accounts
from hai_scheduler.core.ordering.rules import Rules
from hai_scheduler.core.ordering.turns import Turn


@dataclass(frozen=True, slots=True)
class Wait:
    """A waiting task as it was left; position None while it is held."""

    kind: VerdictKind
    task: Task
    priority: Priority
    position: int | None
    rank: float


class Answers:
    """The verdicts of one node group, read off the ledger and the accounts as the whole plan leaves them."""

    def __init__(
        self,
        ledger: Ledger,
        turns: Mapping[TaskId, Turn],
        rules: Rules,
        accounts: Accounts,
        queue: Queue,
        policy: Policy,
    ) -> None:
        #: Every task that waits, held ones among them.
        self.waiting: dict[TaskId, Task] = {}
        #: What was known while the queue was served; all else is found when it is asked for.
        self.kinds: dict[TaskId, VerdictKind] = {}
        #: For whom nodes are kept free, by priority (B1).
        self.reservations: dict[Priority, Reservation] = {}
        self.paused = False
        self._held: dict[TaskId, Priority] = {}
        self._ledger = ledger
        self._turns = turns
        self._rules = rules
        self._accounts = accounts
        self._queue = queue
        self._policy = policy
        self._reach: dict[tuple[Priority, int | None], tuple[int, defaultdict[str, int]]] = {}
        self._open: dict[tuple[Priority, int | None], list[str]] = {}
        #: What is the same for many tasks: who holds nodes that they want, when they can start, orphaned nodes.
        self._holders: dict[tuple[Priority, str] | None, tuple[Holder, ...]] = {}
        self._starts: dict[tuple[str, Priority, float, Size], datetime | None] = {}
        self._orphaned: int | None = None

    @property
    def ids(self) -> Collection[TaskId]:
        """The tasks that wait."""
        return self.waiting.keys()

    def hold(self, task: Task, priority: Priority) -> None:
        """The task waits for its owner."""
        self.waiting[task.id] = task
        self.kinds[task.id] = VerdictKind.HELD
        self._held[task.id] = priority

    # -- kinds ------------------------------------------------------------------------------------

    def kind_of(self, task_id: TaskId) -> VerdictKind:
        """What the task waits for."""
        kind = self.kinds.get(task_id)
        if kind is None:
            task = self.waiting[task_id]
            kind = self.kinds[task_id] = self._kind(task, self._place_of(task))
        return kind

    def level_of(self, task_id: TaskId) -> Priority:
        """What the task counts as (Q4)."""
        held = self._held.get(task_id)
        if held is not None:
            return held
        task = self.waiting[task_id]
        return self._queue.level_of(task, self._rank_of(task))

    def _rank_of(self, task: Task) -> float:
        return self._rules.ranks([task])[0]

    def _place_of(self, task: Task) -> Place:
        return self._queue.place_of(task, self._rank_of(task))

    def _kind(self, task: Task, place: Place) -> VerdictKind:
        units = self._accounts.units(task)
        if not self._ledger.floor.can_ever(task) or not self._accounts.could_ever_fit(task.user, place.priority, units):
            return VerdictKind.NEVER
        if self.paused:
            return VerdictKind.PAUSED
        if task.not_before is not None and task.not_before > self._rules.now:
            return VerdictKind.RETRY
        if not self._accounts.fits(task.user, place.priority, units):
            return VerdictKind.QUOTA
        return self._kind_of_room(task, place)

    def _kind_of_room(self, task: Task, place: Place) -> VerdictKind:
        """Why a task that is in quota has no nodes."""
        names = self._free(task, place.priority)
        kept = self._kept_from(task, place.priority)
        free = [name for name in names if name not in kept]
        if len(free) >= task.nodes and self._scattered(free, task, place.priority):
            return VerdictKind.TOPOLOGY
        if kept and len(names) >= task.nodes:
            return VerdictKind.RESERVED
        total, own = self._within_reach(place.priority, task.gpus)
        return VerdictKind.TURN if total - own.get(task.user, 0) >= task.nodes else VerdictKind.CAPACITY

    def _free(self, task: Task, priority: Priority) -> list[str]:
        """Nodes that are open to the task as the plan leaves them, those that are kept for the head among them."""
        if self._ledger.special(task, priority):
            return self._ledger.now_for(task, priority)
        key = (priority, task.gpus)
        if key not in self._open:
            self._open[key] = self._ledger.now_for(task, priority)
        return self._open[key]

    def _kept_from(self, task: Task, priority: Priority) -> Collection[str]:
        """Nodes that are kept for another and that the task may not use meanwhile (B1, B2)."""
        head = self.reservations.get(priority)
        if head is None or head.task.id == task.id or passes(task, head, self._rules):
            return ()
        return head.nodes

    def _scattered(self, names: Iterable[str], task: Task, priority: Priority) -> bool:
        """Whether they lie in several zones, and too many tasks span zones already (F2)."""
        across = self._ledger.crossing(task, priority, soon=False) < self._policy.max_cross_zone
        return choose(self._ledger.by_leaf(names), task.nodes, across=across) is None

    def _within_reach(self, priority: Priority, gpus: int | None) -> tuple[int, defaultdict[str, int]]:
        """How many nodes equals and lower ones may have to give, sooner or later, and how many of them to whom not."""
        key = (priority, gpus)
        if key not in self._reach:
            total = 0
            own: defaultdict[str, int] = defaultdict(int)
            for spot in self._ledger.spots.all():
                if not spot.usable or (gpus is not None and gpus > spot.node.gpus):
                    continue
                if any(promise.priority >= priority for promise in spot.promises):
                    continue
                if any(not turn.leaving and self._stays(turn, priority) for turn in spot.turns):
                    continue
                total += 1
                for user in {turn.task.user for turn in spot.turns if turn.priority == priority}:
                    own[user] += 1
            self._reach[key] = total, own
        return self._reach[key]

    def _stays(self, turn: Turn, priority: Priority) -> bool:
        return turn.priority > priority or (turn.priority == priority and self._rules.stays(turn))

    # -- verdicts ---------------------------------------------------------------------------------

    def verdict(self, task_id: TaskId) -> Verdict:
        """Everything about why the task waits."""
        wait = self._wait(task_id)
        make = _DATA.get(wait.kind)
        start, holders, data = make(self, wait) if make else (None, (), {})
        return Verdict(
            kind=wait.kind,
            priority=wait.priority,
            position=wait.position,
            earliest_start=start,
            data=data,
            holders=tuple(holders),
        )

    def _wait(self, task_id: TaskId) -> Wait:
        task = self.waiting[task_id]
        if task_id in self._held:
            return Wait(VerdictKind.HELD, task, self._held[task_id], None, 0.0)
        place = self._place_of(task)
        kind = self.kinds.get(task_id)
        if kind is None:
            kind = self.kinds[task_id] = self._kind(task, place)
        return Wait(kind, task, place.priority, place.position, place.rank)

    def _never(self, wait: Wait) -> _Data:
        task = wait.task
        data: dict[str, Value] = {"needs": task.nodes, "gpus": task.gpus}
        if not self._ledger.floor.can_ever(task):
            cap, cause = self._ledger.floor.most(task.gpus), "group"
            if task.gpus is not None and task.gpus > self._ledger.floor.gpus_per_node:
                cap, cause = self._ledger.floor.gpus_per_node, "gpus"
            return None, (), {**data, "cap": cap, "cause": cause}
        account = self._refusing(wait, lambda account, units: account.could_ever_fit(units))
        return None, (), {**data, "cap": account.cap.limit, "cause": account.cap.source}

    def _quota(self, wait: Wait) -> _Data:
        account = self._refusing(wait, lambda account, units: account.fits(units))
        data: dict[str, Value] = {
            "needs": wait.task.nodes,
            "gpus": wait.task.gpus,
            "subject": account.cap.source,
            "limit": account.cap.limit,
            "used": account.used,
        }
        return None, (), data

    def _refusing(self, wait: Wait, good: _Test) -> Account:
        units = self._accounts.units(wait.task)
        accounts = self._accounts.of(wait.task.user, wait.priority)
        return next((account for account in accounts if not good(account, units)), accounts[0])

    def _retry(self, wait: Wait) -> _Data:
        task = wait.task
        unstarted = why_not_started(task)
        if unstarted is not None:
            most = self._policy.max_failed_starts
            starts: dict[str, Value] = {"starts": task.failed_starts, "of": most, "why": unstarted}
            return task.not_before, (), {"until": task.not_before, **starts}
        broken = why_broken(task)
        if broken is not None:
            row: dict[str, Value] = {"starts": task.failed_starts, "of": self._policy.max_failed_starts}
            return task.not_before, (), {"until": task.not_before, **row, "broken": broken}
        of = task.retry.count if task.retry else 0
        return task.not_before, (), {"until": task.not_before, "retries": task.retries, "of": of}

    def _room(self, wait: Wait) -> _Data:
        """CAPACITY, TURN: who holds what it needs, and until when as far as is known."""
        when, holders = self._earliest_start(wait), self._held_by(None)
        if wait.kind is VerdictKind.TURN:
            holders = self._held_by((wait.priority, wait.task.user)) or holders
        data = self._needs(wait)
        if wait.kind is VerdictKind.TURN:
            return when, holders, {**data, "until": when}
        unsaved = self._unsaved(wait)
        if unsaved is not None:
            data |= {"unsaved": unsaved.task.id, "unsaved_runs": unsaved.task.unsaved}
        return when, holders, data

    def _unsaved(self, wait: Wait) -> Turn | None:
        """The largest of others' turns that would end for the task, now or later, if it saved (P8)."""
        if not self._rules.rotates:
            return None
        kept = [
            turn
            for turn in self._turns.values()
            if turn.priority == wait.priority
            and turn.task.user != wait.task.user
            and not turn.leaving
            and self._rules.stays(turn)
        ]
        return min(kept, key=lambda turn: (-len(turn.nodes), turn.task.id), default=None)

    def _held_by(self, among: tuple[Priority, str] | None) -> tuple[Holder, ...]:
        """Who holds nodes: everybody, or at no more than a priority and not one user."""
        if among not in self._holders:
            turns = [*self._turns.values(), *self._ledger.started]
            if among is not None:
                turns = [turn for turn in turns if turn.priority <= among[0] and turn.task.user != among[1]]
            self._holders[among] = _holders(turns)
        return self._holders[among]

    def _earliest_start(self, wait: Wait) -> datetime | None:
        """When it can start at the earliest: the same for all like it that are promised nothing (B1, F3, P5)."""
        task = wait.task
        kept = self.reservations.get(wait.priority)
        if kept is not None and kept.task.id == task.id:
            return kept.at
        key = task.user, wait.priority, wait.rank, size_of(task)
        plain = not (task.avoid or task.promise or task.left_for is not None)
        if not plain or key not in self._starts:
            found = earliest(task, wait.priority, wait.rank, self._ledger, self._rules)
            when = found.at if found is not None else None
            if not plain:
                return when
            self._starts[key] = when
        return self._starts[key]

    def _reserved(self, wait: Wait) -> _Data:
        kept = self.reservations.get(wait.priority)
        data = self._needs(wait)
        if kept is None:
            return None, (), {**data, "until": None}
        head = Holder(
            task_id=kept.task.id,
            name=kept.task.name,
            user=kept.task.user,
            priority=kept.priority,
            nodes=kept.task.nodes,
            gpus=kept.task.gpus,
        )
        return None, (head,), {**data, "until": kept.at}

    def _topology(self, wait: Wait) -> _Data:
        zones: defaultdict[str, int] = defaultdict(int)
        for name in self._ledger.now_for(wait.task, wait.priority):
            zones[self._ledger.floor.zone_of[name]] += 1
        return None, (), {**self._needs(wait), "together": max(zones.values(), default=0)}

    def _needs(self, wait: Wait) -> dict[str, Value]:
        kept = self._kept_from(wait.task, wait.priority)
        free = sum(name not in kept for name in self._free(wait.task, wait.priority))
        found: dict[str, Value] = {"needs": wait.task.nodes, "gpus": wait.task.gpus, "free": free}
        if self._orphaned is None:
            self._orphaned = sum(node.orphan is not None for node in self._ledger.floor.nodes.values())
        return {**found, "orphaned": self._orphaned} if self._orphaned else found

    def _draining(self, wait: Wait) -> _Data:
        task, now = wait.task, self._rules.now
        names = self._ledger.promised_to(task)
        spots = [self._ledger.spots[name] for name in names]
        across = self._ledger.crossers if self._ledger.floor.spans_zones(names) else ()
        turns = (*(turn for spot in spots for turn in spot.turns), *across)
        leaving = {turn.task.id: turn for turn in turns if turn.leaving}
        deadlines = [
            now + turn.task.grace if turn.run.notice is None else turn.run.notice.deadline for turn in leaving.values()
        ]
        deadline = max(deadlines, default=None)
        free = sum(len(spot.free) >= spot.amount(task) for spot in spots)
        data: dict[str, Value] = {
            "needs": task.nodes,
            "gpus": task.gpus,
            "free": free,
            "coming": task.nodes - free,
            "deadline": deadline,
        }
        return deadline, _holders(leaving.values()), data


_Data = tuple[datetime | None, Iterable[Holder], Mapping[str, Value]]
_Test = Callable[[Account, int], bool]

_DATA: Mapping[VerdictKind, Callable[[Answers, Wait], _Data]] = {
    VerdictKind.NEVER: Answers._never,
    VerdictKind.QUOTA: Answers._quota,
    VerdictKind.RETRY: Answers._retry,
    VerdictKind.CAPACITY: Answers._room,
    VerdictKind.TURN: Answers._room,
    VerdictKind.RESERVED: Answers._reserved,
    VerdictKind.TOPOLOGY: Answers._topology,
    VerdictKind.DRAINING: Answers._draining,
}


def _holders(turns: Iterable[Turn]) -> tuple[Holder, ...]:
    """Who holds nodes, most nodes first."""
    found = [
        Holder(
            task_id=turn.task.id,
            name=turn.task.name,
            user=turn.task.user,
            priority=turn.run.priority,
            nodes=len(turn.nodes),
            gpus=turn.task.gpus,
        )
        for turn in turns
    ]
    return tuple(sorted(found, key=lambda holder: (-holder.nodes, holder.task_id)))
