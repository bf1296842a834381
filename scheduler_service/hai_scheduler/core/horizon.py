"""When time alone may change a plan, nothing else happening."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta

from hai_scheduler.core.group_plan import GroupPlan
from hai_scheduler.core.model import Priority
from hai_scheduler.core.quota import LEVELS

#: "Longer than" begins just after.
_INSTANT = timedelta(microseconds=1)


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


def _ranks(part: GroupPlan) -> dict[Priority, set[float]]:
    """The ranks that tasks wait at, by priority; an AUTO task may count at any."""
    ranks: defaultdict[Priority, set[float]] = defaultdict(set)
    for priority, lane in part.queue.lanes.items():
        for level in LEVELS if lane.auto else (priority,):
            ranks[level] |= lane.ranks()
    return ranks
