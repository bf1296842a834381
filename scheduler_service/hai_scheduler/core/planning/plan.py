"""`plan(snapshot, policies) -> Plan`: which tasks start, which leave, and why all other tasks wait.

The same function runs in production, in simulations, in forecasts and in tests. `group_plan` plans each node group on
its own (U3).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from hai_scheduler.core.model.decisions import Plan
from hai_scheduler.core.model.policy import Policies, Policy
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.verdicts import Verdicts
from hai_scheduler.core.ordering.discipline import Discipline
from hai_scheduler.core.planning.group_plan import GroupDecisions, GroupPlan
from hai_scheduler.core.planning.next_change import changes_at, reorders_at
from hai_scheduler.core.planning.plan_cache import PlanCache


def plan(
    snapshot: Snapshot,
    policies: Policy | Policies,
    discipline: Discipline = Discipline.HAI,
    cache: PlanCache | None = None,
) -> Plan:
    """Make a plan. Pure: equal snapshots give equal plans, whatever the order of their nodes and tasks (F4).

    Args:
        snapshot: The cluster and the queue at one moment.
        policies: The policy numbers, for all node groups or for each.
        discipline: The rules of order and preemption.
        cache: What earlier plans of the same caller remember. It makes a plan faster and changes no decision.

    Returns:
        The decisions, and a verdict for each task that goes on waiting.
    """
    cache = PlanCache() if cache is None else cache
    cache.update(snapshot, policies, discipline)
    groups = sorted({*cache.node_groups, *(group for group, task_index in cache.groups.items() if task_index)})
    parts = [GroupPlan(group, snapshot, policies.of(group), discipline, cache).make() for group in groups]
    cache.finished()
    return Plan(
        decisions=tuple([decision for part in parts for decision in part.decisions]),
        verdicts=Verdicts([part.answers for part in parts]),
        work=sum(part.work for part in parts),
        later=lambda: _first(snapshot, parts),
        stays=lambda: _stays(snapshot, parts),
    )


def _first(snapshot: Snapshot, parts: Sequence[GroupDecisions]) -> datetime | None:
    times = [when for part in parts for when in changes_at(part.outlook) if when > snapshot.now]
    times += [row.expires_at for row in snapshot.quotas if row.expires_at is not None and row.expires_at > snapshot.now]
    return min(times, default=None)


def _stays(snapshot: Snapshot, parts: Sequence[GroupDecisions]) -> datetime | None:
    times = [when for part in parts for when in reorders_at(part.outlook) if when > snapshot.now]
    first = _first(snapshot, parts)
    return min([*times, first] if first is not None else times, default=None)
