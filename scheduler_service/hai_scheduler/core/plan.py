"""`plan(snapshot, policies) -> Plan`: who starts, who leaves, and why everybody else waits.

The same function runs in production, in simulations, in forecasts and in tests. Each node group is planned apart (U3),
in `group_plan`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from operator import attrgetter

from hai_scheduler.core.decisions import Plan
from hai_scheduler.core.discipline import Discipline
from hai_scheduler.core.group_plan import GroupPlan
from hai_scheduler.core.horizon import changes_at
from hai_scheduler.core.model import Node, Task, TaskState
from hai_scheduler.core.policy import Policies, Policy
from hai_scheduler.core.quota import QuotaBook
from hai_scheduler.core.snapshot import Snapshot
from hai_scheduler.core.verdicts import Verdicts


def plan(snapshot: Snapshot, policies: Policy | Policies, discipline: Discipline = Discipline.HAI) -> Plan:
    """Decide. Pure: equal snapshots give equal plans, whatever the order of their parts (F4)."""
    book = QuotaBook(snapshot.quotas, snapshot.groups_of, snapshot.now)
    live: defaultdict[str, list[Task]] = defaultdict(list)
    waiting: defaultdict[str, list[Task]] = defaultdict(list)
    queued, suspended = TaskState.QUEUED, TaskState.SUSPENDED
    for task in sorted(snapshot.tasks, key=attrgetter("id")):
        state = task.state
        if state is queued or state is suspended:
            waiting[task.group].append(task)
        else:
            live[task.group].append(task)
    nodes: defaultdict[str, list[Node]] = defaultdict(list)
    for node in snapshot.nodes:
        nodes[node.group].append(node)
    parts = {
        group: GroupPlan(
            group, snapshot, policies.of(group), book, discipline, nodes[group], live[group], waiting[group]
        )
        for group in sorted({*nodes, *live, *waiting})
    }
    for part in parts.values():
        part.run()
    return Plan(
        decisions=tuple([decision for part in parts.values() for decision in part.decisions]),
        verdicts=Verdicts([part.answers for part in parts.values()]),
        work=sum(part.work for part in parts.values()),
        later=lambda: _first(snapshot, parts.values()),
    )


def _first(snapshot: Snapshot, parts: Iterable[GroupPlan]) -> datetime | None:
    times = [when for part in parts for when in changes_at(part) if when > snapshot.now]
    times += [row.expires_at for row in snapshot.quotas if row.expires_at is not None and row.expires_at > snapshot.now]
    return min(times, default=None)
