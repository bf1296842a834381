"""When time alone may change a plan, nothing else happening."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from math import log, log1p

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.ordering.quota import LEVELS
from hai_scheduler.core.planning.group_plan import GroupPlan

#: "Longer than" begins just after.
_INSTANT = timedelta(microseconds=1)
_LN2 = log(2)
#: Use is computed with a relative error: what follows from it may happen so much sooner.
_ABOUT = timedelta(milliseconds=1)


def changes_at(part: GroupPlan) -> Iterator[datetime]:
    """Times, past ones among them, at which the plan may change by itself."""
    waiting = [task for task in part.answers.waiting.values() if not task.held]
    ranks = _ranks(part) if waiting else {}
    left_for = {task.left_for for task in waiting}
    for turn in part.turns.values():
        if turn.ends_at is not None:
            yield turn.ends_at
        if turn.leaving or not waiting:
            continue
        yield from part.rules.changes_at(turn, ranks.get(turn.priority, ()))
        if turn.demoted_at is not None:
            yield turn.demoted_at
        if turn.task.id in left_for:
            yield turn.run.turn_start + part.policy.min_run  # P5
    for task in waiting:
        if task.served >= part.policy.slice:
            yield task.waiting_since + part.policy.starve_after + _INSTANT
        if task.not_before is not None:
            yield task.not_before


def reorders_at(part: GroupPlan) -> Iterator[datetime]:
    """Other times at which the plan may change by itself: the order of users changes (O3), a notice runs out.

    Use decays for all users alike, so one overtakes another only by what he holds now. With `a` and `b` the use of two
    neighbours in the order, `a` < `b`, that grow by what they hold, the use of both is equal when
    `a x + A (1 - x) = b x + B (1 - x)` with `x` what is left of the use of today: `x = 2 ** (-time / half-life)`.
    """
    for turn in part.turns.values():
        if turn.run.notice is not None:
            yield turn.run.notice.deadline
    half_life = part.policy.half_life
    order = sorted((use, part.rules.pace_of(user)) for user, use in part.use.items())
    for (use, pace), (more, slower) in pairwise(order):
        gap, gain = more - use, pace - slower
        if gap == 0 and gain:
            yield part.now + _INSTANT
        elif gain > 0:
            try:
                yield max(part.now + _INSTANT, part.now + half_life * _log2_1p(gap / gain) - _ABOUT)
            except OverflowError:
                continue  # in thousands of years


def _log2_1p(value: float) -> float:
    """The logarithm of 1 + value, to the base 2."""
    return log1p(value) / _LN2


def _ranks(part: GroupPlan) -> dict[Priority, set[float]]:
    """The ranks that tasks wait at, by priority; an AUTO task may count at any."""
    ranks: defaultdict[Priority, set[float]] = defaultdict(set)
    for priority, lane in part.queue.lanes.items():
        for level in LEVELS if lane.auto else (priority,):
            ranks[level] |= lane.ranks()
    return ranks
