"""Who waits for a turn, and who holds how much, as numbers for metrics."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.model.verdicts import Verdict
from hai_scheduler.core.tallies.families import OTHER
from hai_scheduler.service.insight.census import level_of

#: How many users have a label of their own.
MOST_USERS: Final = 100


@dataclass(frozen=True, slots=True)
class OverallDemand:
    """Who waits how long, and who holds and wants how much."""

    #: How many seconds the task has waited that has waited longest, by node group and level.
    waits: Mapping[tuple[str, Priority], float]
    #: Nodes that users' tasks hold (`held`) and wait for (`waiting`), by user and that word.
    users: Mapping[tuple[str, str], int]


def demand_of(tasks: Sequence[Task], verdicts: Mapping[TaskId, Verdict], now: datetime) -> OverallDemand:
    """Return the demand of all unfinished tasks."""
    return OverallDemand(waits=_oldest_waits(tasks, verdicts, now), users=_nodes_of_users(tasks))


def _oldest_waits(
    tasks: Iterable[Task], verdicts: Mapping[TaskId, Verdict], now: datetime
) -> Mapping[tuple[str, Priority], float]:
    """Return how many seconds the task has waited that has waited longest, by node group and level.

    Tasks that wait for their owner, or for the end of a back-off, are left out.
    """
    oldest: dict[tuple[str, Priority], datetime] = {}
    for task in tasks:
        if not task.state.waiting or task.held or (task.not_before is not None and task.not_before > now):
            continue
        level = level_of(task, verdicts)
        key = task.group, Priority.NORMAL if level is None else level
        if key not in oldest or task.waiting_since < oldest[key]:
            oldest[key] = task.waiting_since
    return {key: max(0.0, (now - since).total_seconds()) for key, since in oldest.items()}


def _nodes_of_users(tasks: Iterable[Task]) -> Mapping[tuple[str, str], int]:
    """Return the nodes that users' tasks hold (`held`) and wait for (`waiting`), by user and that word.

    Only the `MOST_USERS` users with most nodes are named.
    """
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for task in tasks:
        found[task.user]["waiting" if task.state.waiting else "held"] += task.nodes
    first = sorted(found, key=lambda user: (-found[user].total(), user))[:MOST_USERS]
    named = dict.fromkeys(first)
    numbers: Counter[tuple[str, str]] = Counter()
    for user, states in found.items():
        for state, nodes in states.items():
            numbers[user if user in named else OTHER, state] += nodes
    return numbers
