"""The rules of each discipline: the order of waiting tasks, which turns may end for which task, and backfill.

`HaiRules` implements docs/scheduling.md; the others exist for comparison (docs/simulator.md). All disciplines share
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
from hai_scheduler.core.ordering.fair_share import FairShare
from hai_scheduler.core.ordering.order import level_at
from hai_scheduler.core.ordering.turns import Turn, keeps, protected_until, slice_of

_NEVER = float("inf")
#: Above the levels of the feedback queue, which are 0 to 2 (O2).
_ABOVE_LEVELS = 3


class Harm(NamedTuple):
    """How much harm the end of a turn does: of two turns the one with the smaller harm ends first (P4)."""

    #: The harm by the rules of the discipline: `Rules.harm`.
    order: tuple[float, ...]
    #: When the turn was started, in negated seconds: of equal harm the latest start is first.
    started: float
    task_id: TaskId


class Rules:
    """First come, first served, by priority (O1, P1): the base of all disciplines."""

    def __init__(self, policy: Policy, now: datetime, use: FairShare, remaining: Mapping[TaskId, timedelta]) -> None:
        self.policy = policy
        self.now = now
        self.use = use
        self.remaining = remaining
        self._starving = now - policy.starve_after
        self._seconds: dict[TaskId, float] = {}
        self._harms: dict[TaskId, Harm] = {}

    #: Whether the first task that cannot start keeps all tasks behind it waiting.
    blocks: ClassVar[bool] = False
    #: Whether nodes are reserved for the first task that cannot start (B1).
    reserves: ClassVar[bool] = False
    #: Whether a task may be told to leave for an equal.
    rotates: ClassVar[bool] = False

    #: Whether precedences may change although neither the task nor the time does.
    volatile: ClassVar[bool] = False

    def precedences(self, tasks: Sequence[Task]) -> list[float]:
        """Return the precedence of each waiting task among its equals; smaller goes first."""
        return [0.0] * len(tasks)

    def precedence_until(self, _task: Task) -> datetime | None:
        """Return the time after which the precedence of a waiting task changes by time alone; None: never.

        It is asked only for tasks whose precedence is not 0.
        """
        return None

    def use_of(self, _user: str) -> float:
        """Return the use of a user, by which tasks of one precedence are ordered before their seats."""
        return 0.0

    def pace_of(self, _user: str) -> float:
        """Return the value that `use_of` tends to while the user goes on holding the same nodes."""
        return 0.0

    def reason(self, turn: Turn, priority: Priority, precedence: float) -> Reason | None:
        """Return why the turn may end now for a task that waits at that priority and precedence (P1, P2), or None."""
        if not self.may_end(turn, priority, precedence):
            return None
        if turn.priority < priority:
            return Reason.PREEMPTED
        return Reason.GPUS_IDLE if turn.idle(self.now) else Reason.TURN_OVER

    def may_end(self, turn: Turn, priority: Priority, precedence: float) -> bool:
        """Whether the turn may end now for a task that waits at that priority and precedence (P1, P2)."""
        if turn.priority != priority:
            return turn.priority < priority
        free_at = self.equal_at(turn, precedence)
        return free_at is not None and free_at <= self.now

    def equal_at(self, _turn: Turn, _rank: float) -> datetime | None:
        """Return the time from which the turn may end for an equal of that precedence; None: never."""
        return None

    def stays(self, _turn: Turn) -> bool:
        """Whether the turn never ends for an equal, as long as its task does not change."""
        return not self.rotates

    def changes_at(self, _turn: Turn, _precedences: Iterable[float]) -> Iterator[datetime]:
        """Yield the times at which the turn may end for equals that wait at those precedences, if only time passes."""
        yield from ()

    def harm_of(self, turn: Turn) -> Harm:
        """Return how much harm the end of the turn does (P4); ties by later start, then id."""
        known = self._harms.get(turn.task.id)
        if known is None:
            # This runs for each turn of a plan, and is faster than `Harm(...)`.
            known = tuple.__new__(Harm, (self.harm(turn), -turn.run.started_at.timestamp(), turn.task.id))
            self._harms[turn.task.id] = known
        return known

    def harm(self, turn: Turn) -> tuple[float, ...]:
        """Return the key by which turns are ended (P4); smaller goes first."""
        return turn.priority, turn.lost(self.now)

    def gives_back(self, _task: Task, _rank: float) -> timedelta | None:
        """Return how long after its start the task may have to leave for an equal of that precedence (B2), or None."""
        return None


class HaiRules(Rules):
    """The rules of docs/scheduling.md."""

    reserves = True
    rotates = True

    def precedences(self, tasks: Sequence[Task]) -> list[float]:
        """Return levels of the feedback queue: a starving task counts as level 0 (O2)."""
        first, second, starving = self.policy.slice, self.policy.long_after, self._starving
        return [
            0 if task.served < first or task.waiting_since < starving else 1 if task.served < second else 2
            for task in tasks
        ]

    def precedence_until(self, task: Task) -> datetime | None:
        """Return when the task begins to starve (O2)."""
        return task.waiting_since + self.policy.starve_after

    def use_of(self, user: str) -> float:
        """Return the decayed use of the user (O3)."""
        return self.use.of(user)

    def pace_of(self, user: str) -> float:
        """Return the value that the user's decayed use tends to (O3)."""
        return self.use.pace(user)

    def equal_at(self, turn: Turn, precedence: float) -> datetime | None:
        """Return when the turn has lasted long enough (P2, P6, P7, I1); None if it must not be interrupted (P8)."""
        return turn.free_at(int(precedence), self.policy)

    def stays(self, turn: Turn) -> bool:
        """Whether the task was interrupted too often without a save, so that its turn stays until it saves (P8)."""
        return turn.kept and turn.idle_at is None

    def changes_at(self, turn: Turn, precedences: Iterable[float]) -> Iterator[datetime]:
        """Yield when the turn has lasted long enough for each of the precedences (P2), or becomes idle (I1, P3, P4)."""
        if turn.idle_at is not None:
            yield turn.idle_at
        for precedence in precedences:
            when = turn.free_at(int(precedence), self.policy)
            if when is not None:
                yield when

    def harm(self, turn: Turn) -> tuple[float, ...]:
        """Return a key: lowest priority, highest level (above all: idle GPUs, I1), least node time lost (P4)."""
        level = _ABOVE_LEVELS if turn.idle(self.now) else turn.level(self.policy, self.now)
        return turn.priority, -level, turn.lost(self.now)

    def gives_back(self, task: Task, precedence: float) -> timedelta | None:
        """Return `min_run` if the task is of a higher level by then, else its slice (P2, P6, P7); None by P8."""
        if keeps(task, self.policy):
            return None
        floor = max(self.policy.min_run, self.policy.min_run_per_switch * task.switch_cost)
        protected = protected_until(task, self.policy) if task.rotations else None
        if protected is not None:
            floor = max(floor, protected - self.now)
        if level_at(task.served + floor, self.policy) > precedence:
            return floor
        return max(floor, slice_of(task, self.policy))


class FifoRules(Rules):
    """The scheduler of the original HAI as published: the head of the queue blocks all tasks behind it."""

    blocks = True


class BackfillRules(Rules):
    """FIFO with EASY backfill: tasks may pass the head if their time limits end them before the head can start."""

    reserves = True


class LasRules(Rules):
    """Two-dimensional least attained service in three queues (Tiresias): by node time, not by time."""

    rotates = True

    def precedences(self, tasks: Sequence[Task]) -> list[float]:
        """Return the queue of each task, by its attained node time."""
        return [level_at(task.served * task.nodes * _share(task), self.policy) for task in tasks]

    def equal_at(self, turn: Turn, precedence: float) -> datetime | None:
        """Return now if the turn's task has attained enough to be in a later queue than `precedence`, else None."""
        service = turn.task.served
        if turn.run.running_at is not None:
            service += self.now - turn.run.running_at
        attained = level_at(service * turn.task.nodes * _share(turn.task), self.policy)
        return self.now if attained > precedence else None

    def changes_at(self, turn: Turn, _precedences: Iterable[float]) -> Iterator[datetime]:
        """Yield when the turn's task moves to a later queue."""
        if turn.run.running_at is not None:
            for attained in (self.policy.slice, self.policy.long_after):
                service = attained / (turn.task.nodes * _share(turn.task))
                yield turn.run.running_at + (service - turn.task.served)

    def harm(self, turn: Turn) -> tuple[float, ...]:
        """Return a key: most attained node time first."""
        return turn.priority, -(turn.task.served.total_seconds() * turn.task.nodes)


class SjfRules(Rules):
    """Shortest job first, with known run times; a turn never ends for an equal."""

    volatile = True

    def precedences(self, tasks: Sequence[Task]) -> list[float]:
        """Return how long each task still runs, in seconds."""
        return [self._left(task) for task in tasks]

    def _left(self, task: Task) -> float:
        left = self._seconds.get(task.id)
        if left is None:
            known = self.remaining.get(task.id)
            left = self._seconds[task.id] = _NEVER if known is None else known.total_seconds()
        return left


class SrtfRules(SjfRules):
    """Shortest remaining time first, with known run times."""

    rotates = True

    def equal_at(self, turn: Turn, precedence: float) -> datetime | None:
        """Return now if the turn's task still runs longer than `precedence` seconds, else None."""
        return self.now if self._left(turn.task) > precedence else None

    def harm(self, turn: Turn) -> tuple[float, ...]:
        """Return a key: longest remaining time first."""
        return turn.priority, -self._left(turn.task)


def _share(task: Task) -> float:
    """Return the share of a node that the task takes: 1 for whole nodes, k / 8 for k GPUs, as traces have 8 a node."""
    return 1.0 if task.gpus is None else task.gpus / 8


RULES: Mapping[Discipline, type[Rules]] = {
    Discipline.HAI: HaiRules,
    Discipline.FIFO: FifoRules,
    Discipline.BACKFILL: BackfillRules,
    Discipline.LAS: LasRules,
    Discipline.SJF: SjfRules,
    Discipline.SRTF: SrtfRules,
}
