"""The disciplines as values: in what order tasks wait, who may be told to leave, and who may pass whom.

`HaiRules` is docs/scheduling.md; the others exist to be compared with it (docs/simulator.md). All of them share
quota, placement, gangs, promises and priorities (O1, P1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import ClassVar, NamedTuple

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.discipline import Discipline
from hai_scheduler.core.ordering.order import level_at
from hai_scheduler.core.ordering.turns import Turn, keeps, protected_until, slice_of
from hai_scheduler.core.ordering.user_use import UserUse

_NEVER = float("inf")


class Harm(NamedTuple):
    """How much harm ending a turn does: of two turns the one with the smaller harm ends first (P4)."""

    #: What the rules of the discipline say of it: `Rules.harm`.
    order: tuple[float, ...]
    #: When the turn was started, in seconds, negated: of equal harm the latest start is first.
    started: float
    task_id: TaskId


class Rules:
    """First come, first served, by priority (O1, P1): what the disciplines have in common."""

    def __init__(self, policy: Policy, now: datetime, use: UserUse, remaining: Mapping[TaskId, timedelta]) -> None:
        self.policy = policy
        self.now = now
        self.use = use
        self.remaining = remaining
        self._starving = now - policy.starve_after
        self._seconds: dict[TaskId, float] = {}
        self._harms: dict[TaskId, Harm] = {}

    #: The first task that cannot start keeps all behind it waiting.
    blocks: ClassVar[bool] = False
    #: Nodes are kept free for the first task that cannot start (B1).
    reserves: ClassVar[bool] = False
    #: Among equals, one may be told to leave for another.
    rotates: ClassVar[bool] = False

    #: Ranks may change though neither the task does nor time passes.
    volatile: ClassVar[bool] = False

    def ranks(self, tasks: Sequence[Task]) -> list[float]:
        """Where each waiting task stands among its equals; smaller goes first."""
        return [0.0] * len(tasks)

    def rank_until(self, _task: Task) -> datetime | None:
        """After which moment a waiting task, whose rank is not 0, has another, nothing else happening; None: never."""
        return None

    def use_of(self, _user: str) -> float:
        """What the user's tasks of one rank are ordered by, before their seats."""
        return 0.0

    def pace_of(self, _user: str) -> float:
        """What `use_of` comes to in the end if the user holds for ever what he holds now."""
        return 0.0

    def reason(self, turn: Turn, priority: Priority, rank: float) -> Reason | None:
        """Why the turn may end now for a task that waits at that priority and rank (P1, P2), or None."""
        if not self.may_end(turn, priority, rank):
            return None
        return Reason.PREEMPTED if turn.priority < priority else Reason.TURN_OVER

    def may_end(self, turn: Turn, priority: Priority, rank: float) -> bool:
        """Whether the turn may end now for a task that waits at that priority and rank (P1, P2)."""
        if turn.priority != priority:
            return turn.priority < priority
        free_at = self.equal_at(turn, rank)
        return free_at is not None and free_at <= self.now

    def equal_at(self, _turn: Turn, _rank: float) -> datetime | None:
        """From when the turn may end for an equal of that rank; None is never."""
        return None

    def stays(self, _turn: Turn) -> bool:
        """Whether the turn, as things are, never ends for an equal."""
        return not self.rotates

    def changes_at(self, _turn: Turn, _ranks: Iterable[float]) -> Iterator[datetime]:
        """When time alone changes what the turn may be asked by equals who wait at those ranks."""
        yield from ()

    def harm_of(self, turn: Turn) -> Harm:
        """How much harm ending the turn does (P4); ties by later start, then id."""
        known = self._harms.get(turn.task.id)
        if known is None:
            # One for each turn of a plan: this is faster than by its name.
            known = tuple.__new__(Harm, (self.harm(turn), -turn.run.started_at.timestamp(), turn.task.id))
            self._harms[turn.task.id] = known
        return known

    def harm(self, turn: Turn) -> tuple[float, ...]:
        """The order in which turns are ended (P4); smaller goes first."""
        return turn.priority, turn.lost(self.now)

    def gives_back(self, _task: Task, _rank: float) -> timedelta | None:
        """How long after its start an equal of that rank may have the nodes of the task back (B2); None is never."""
        return None


class HaiRules(Rules):
    """The rules of docs/scheduling.md."""

    reserves = True
    rotates = True

    def ranks(self, tasks: Sequence[Task]) -> list[float]:
        """Levels of the feedback queue: a task that has waited too long counts as new (O2)."""
        first, second, starving = self.policy.slice, self.policy.long_after, self._starving
        return [
            0 if task.served < first or task.waiting_since < starving else 1 if task.served < second else 2
            for task in tasks
        ]

    def rank_until(self, task: Task) -> datetime | None:
        """When it has waited too long (O2)."""
        return task.waiting_since + self.policy.starve_after

    def use_of(self, user: str) -> float:
        """Decayed use (O3)."""
        return self.use.of(user)

    def pace_of(self, user: str) -> float:
        """What decayed use comes to in the end (O3)."""
        return self.use.pace(user)

    def equal_at(self, turn: Turn, rank: float) -> datetime | None:
        """When the turn has lasted long enough (P2, P6, P7); never where it must not be interrupted (P8)."""
        return turn.free_at(int(rank), self.policy)

    def stays(self, turn: Turn) -> bool:
        """Until it has saved, if it was interrupted too often without (P8)."""
        return turn.kept

    def changes_at(self, turn: Turn, ranks: Iterable[float]) -> Iterator[datetime]:
        """When its turn has lasted long enough for each of them (P2)."""
        if turn.kept:
            return
        for rank in ranks:
            when = turn.free_at(int(rank), self.policy)
            if when is not None:
                yield when

    def harm(self, turn: Turn) -> tuple[float, ...]:
        """Lowest priority, highest level, least node time lost (P4)."""
        return turn.priority, -turn.level(self.policy, self.now), turn.lost(self.now)

    def gives_back(self, task: Task, rank: float) -> timedelta | None:
        """After `min_run` if it is of a higher level by then, else after its slice (P2, P6, P7); never by P8."""
        if keeps(task, self.policy):
            return None
        floor = max(self.policy.min_run, self.policy.worth * task.switch_cost)
        protected = protected_until(task, self.policy) if task.rotations else None
        if protected is not None:
            floor = max(floor, protected - self.now)
        if level_at(task.served + floor, self.policy) > rank:
            return floor
        return max(floor, slice_of(task, self.policy))


class FifoRules(Rules):
    """The original's open scheduler: the head of the queue blocks all behind it."""

    blocks = True


class BackfillRules(Rules):
    """FIFO with EASY backfill: others may pass the head if they end by their time limits before it can start."""

    reserves = True


class LasRules(Rules):
    """Two-dimensional least attained service in three queues (Tiresias): by node time held, not by time."""

    rotates = True

    def ranks(self, tasks: Sequence[Task]) -> list[float]:
        """The queues that their attained node time puts them in."""
        return [level_at(task.served * task.nodes * _share(task), self.policy) for task in tasks]

    def equal_at(self, turn: Turn, rank: float) -> datetime | None:
        """At once, when it has had more."""
        service = turn.task.served
        if turn.run.running_at is not None:
            service += self.now - turn.run.running_at
        attained = level_at(service * turn.task.nodes * _share(turn.task), self.policy)
        return self.now if attained > rank else None

    def changes_at(self, turn: Turn, _ranks: Iterable[float]) -> Iterator[datetime]:
        """When it moves to a lower queue."""
        if turn.run.running_at is not None:
            for attained in (self.policy.slice, self.policy.long_after):
                service = attained / (turn.task.nodes * _share(turn.task))
                yield turn.run.running_at + (service - turn.task.served)

    def harm(self, turn: Turn) -> tuple[float, ...]:
        """Most attained first."""
        return turn.priority, -(turn.task.served.total_seconds() * turn.task.nodes)


class SjfRules(Rules):
    """Shortest job first, knowing how long each takes; a turn is never ended for an equal."""

    volatile = True

    def ranks(self, tasks: Sequence[Task]) -> list[float]:
        """How long each still takes."""
        return [self._left(task) for task in tasks]

    def _left(self, task: Task) -> float:
        left = self._seconds.get(task.id)
        if left is None:
            known = self.remaining.get(task.id)
            left = self._seconds[task.id] = _NEVER if known is None else known.total_seconds()
        return left


class SrtfRules(SjfRules):
    """Shortest remaining time first, knowing how long each takes."""

    rotates = True

    def equal_at(self, turn: Turn, rank: float) -> datetime | None:
        """At once, when it takes longer."""
        return self.now if self._left(turn.task) > rank else None

    def harm(self, turn: Turn) -> tuple[float, ...]:
        """Longest first."""
        return turn.priority, -self._left(turn.task)


def _share(task: Task) -> float:
    """Nodes count as wholes in this discipline, k GPUs as k eighths: sizes of 8 GPUs are the traces' own."""
    return 1.0 if task.gpus is None else task.gpus / 8


RULES: Mapping[Discipline, type[Rules]] = {
    Discipline.HAI: HaiRules,
    Discipline.FIFO: FifoRules,
    Discipline.BACKFILL: BackfillRules,
    Discipline.LAS: LasRules,
    Discipline.SJF: SjfRules,
    Discipline.SRTF: SrtfRules,
}
