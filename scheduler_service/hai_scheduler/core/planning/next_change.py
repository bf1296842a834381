"""When a plan may change although nothing happens but time passing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from math import log, log1p

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.queue import Subqueue
from hai_scheduler.core.ordering.quota import LEVELS
from hai_scheduler.core.ordering.rules import Rules
from hai_scheduler.core.ordering.turns import Turn

#: "Longer than" begins just after.
_INSTANT = timedelta(microseconds=1)
_LN2 = log(2)
#: Use is computed with a rounding error: a time that is derived from it may be this much too late.
_ABOUT = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """The facts of a node group's plan from which it follows when time changes the plan."""

    #: When the plan was made.
    now: datetime
    policy: Policy
    rules: Rules
    turns: Mapping[TaskId, Turn]
    #: Tasks that go on waiting, with held ones.
    waiting: Mapping[TaskId, Task]
    subqueues: Mapping[Priority, Subqueue]
    #: Decayed use of the users who have waiting tasks (O3).
    use: Mapping[str, float]


def changes_at(plan: Outlook) -> Iterator[datetime]:
    """Yield times, past ones among them, at which the plan may change by itself."""
    waiting = [task for task in plan.waiting.values() if not task.held]
    precedences = _precedences(plan) if waiting else {}
    left_for = {task.left_for for task in waiting}
    for turn in plan.turns.values():
        if turn.ends_at is not None:
            yield turn.ends_at
        if turn.leaving or not waiting:
            continue
        yield from plan.rules.changes_at(turn, precedences.get(turn.priority, ()))
        if turn.demoted_at is not None:
            yield turn.demoted_at
        if turn.task.id in left_for:
            yield turn.run.turn_start + plan.policy.min_run  # P5
    for task in waiting:
        if task.served >= plan.policy.slice:
            yield task.waiting_since + plan.policy.starve_after + _INSTANT
        if task.not_before is not None:
            yield task.not_before


def reorders_at(plan: Outlook) -> Iterator[datetime]:
    """Yield other times at which the plan may change by itself: the order of users changes (O3), a deadline passes.

    Use decays for all users alike, so only what users hold now changes their order. Let `a` < `b` be the use of two
    neighbours in the order, and `A`, `B` the use that each tends to while they hold what they hold now. Both are equal
    when `a x + A (1 - x) = b x + B (1 - x)`, where `x = 2 ** (-time / half-life)` is what is left of today's use.
    """
    for turn in plan.turns.values():
        if turn.run.notice is not None:
            yield turn.run.notice.deadline
    half_life = plan.policy.half_life
    order = sorted((use, plan.rules.pace_of(user)) for user, use in plan.use.items())
    for (use, pace), (more, slower) in pairwise(order):
        gap, gain = more - use, pace - slower
        if gap == 0 and gain:
            yield plan.now + _INSTANT
        elif gain > 0:
            try:
                yield max(plan.now + _INSTANT, plan.now + half_life * _log2_1p(gap / gain) - _ABOUT)
            except OverflowError:
                continue  # in thousands of years


def _log2_1p(value: float) -> float:
    """Return the logarithm of 1 + value, to the base 2."""
    return log1p(value) / _LN2


def _precedences(plan: Outlook) -> dict[Priority, set[float]]:
    """Return the precedences at which tasks wait, by priority; an AUTO task may count at any priority."""
    precedences: defaultdict[Priority, set[float]] = defaultdict(set)
    for priority, subqueue in plan.subqueues.items():
        for level in LEVELS if subqueue.auto else (priority,):
            precedences[level] |= subqueue.precedences()
    return precedences
