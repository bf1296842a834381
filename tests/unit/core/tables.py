"""Helpers of the tables of rules: clusters, running and waiting tasks, and readers of plans."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from hai_scheduler.core.model.decisions import Plan, Start, Suspend
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.policy import Policies, Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Rank, RankState
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.core.model.verdicts import VerdictKind
from hai_scheduler.core.nodes.node_group import NodeGroup
from hai_scheduler.core.ordering.discipline import Discipline
from hai_scheduler.core.ordering.turns import Turn, facts_of, turn_at
from hai_scheduler.core.planning.plan import plan
from kit.builders import a_notice, a_quota, a_run, a_task, at, some_nodes

#: Rows that limit no user at any priority.
EVERYBODY = tuple(a_quota("public", priority=level, limit=None) for level in Priority)
NOW = at(hours=10)
LOW, NORMAL, ABOVE, HIGH = Priority.LOW, Priority.NORMAL, Priority.ABOVE_NORMAL, Priority.HIGH
POLICY = Policy()


def ago(minutes: float) -> Any:
    """The time `minutes` before `NOW`."""
    return NOW - timedelta(minutes=minutes)


def for_minutes(minutes: float) -> timedelta:
    """`minutes` as a `timedelta`."""
    return timedelta(minutes=minutes)


def snapshot(
    *tasks: Task, nodes: int | tuple[Node, ...] = 4, quotas: tuple[Quota, ...] = EVERYBODY, **more: Any
) -> Snapshot:
    """A snapshot with `node-1` to `node-<nodes>` of 8 GPUs, or with those nodes; quota is unlimited by default."""
    made = some_nodes(nodes) if isinstance(nodes, int) else nodes
    shot = Snapshot(**{"now": NOW, "nodes": made, "tasks": tasks, "quotas": quotas, **more})
    shot.check()
    return shot


def runs(id: int, *names: str, minutes: float = 60, **fields: Any) -> Task:  # noqa: A002
    """A task that has been running for `minutes` on the whole nodes `names`, for a user of its own."""
    priority = fields.pop("level", NORMAL)
    begun = ago(minutes)
    run = a_run(id, nodes=names, started_at=begun, priority=priority, **fields.pop("run", {}))
    fields = {"user": f"user{id}", "priority": priority, **fields}
    return a_task(id, state=TaskState.RUNNING, nodes=len(names), run=run, **fields)


def shares(id: int, gpus: dict[str, tuple[int, ...]], minutes: float = 60, **fields: Any) -> Task:  # noqa: A002
    """A task that has been running for `minutes` on GPUs of nodes: `gpus` has the indices by node."""
    task = runs(id, *gpus, minutes=minutes, gpus=len(next(iter(gpus.values()))), **fields)
    assert task.run is not None
    ranks = tuple(
        Rank(rank=number, node=name, gpus=taken, state=RankState.RUNNING)
        for number, (name, taken) in enumerate(gpus.items())
    )
    return replace(task, run=replace(task.run, ranks=ranks))


def waits(id: int, nodes: int = 1, **fields: Any) -> Task:  # noqa: A002
    """A waiting task of a user of its own. Tasks are submitted in the order of ids, too recently to starve."""
    return a_task(id, nodes=nodes, **{"user": f"user{id}", "submitted_at": at(id), "waiting_since": NOW, **fields})


def turn_of(task: Task, policy: Policy = POLICY, now: datetime = NOW, node_group: NodeGroup | None = None) -> Turn:
    """The turn of a running task, on three nodes of 8 GPUs unless `node_group` has others."""
    assert task.run is not None
    return turn_at(facts_of(task, task.run, policy, node_group or NodeGroup(some_nodes(3))), now)


def leaving(task: Task, beneficiary: int | None, reason: Reason = Reason.PREEMPTED) -> Task:
    """The running task, told to leave just now."""
    assert task.run is not None
    notice = a_notice(reason, at=NOW, beneficiary=beneficiary)
    return replace(task, state=TaskState.SUSPENDING, run=replace(task.run, notice=notice))


def decide(shot: Snapshot, policy: Policy | Policies = POLICY, discipline: Discipline = Discipline.HAI) -> Plan:
    """The plan for the snapshot, by default with the default policy."""
    return plan(shot, policy, discipline)


def starts(made: Plan) -> dict[int, tuple[str, ...]]:
    """The nodes of the tasks that start, by task, in the order of the decisions."""
    return {d.task_id: d.nodes for d in made.decisions if isinstance(d, Start)}


def started_gpus(made: Plan) -> dict[int, tuple[tuple[int, ...], ...]]:
    """The GPU indices of the tasks that start: by task, for each rank."""
    return {d.task_id: d.gpus for d in made.decisions if isinstance(d, Start)}


def suspends(made: Plan) -> dict[int, int | None]:
    """The tasks that are told to leave, each with its beneficiary (None: no task)."""
    return {d.task_id: d.beneficiary for d in made.decisions if isinstance(d, Suspend)}


def kinds(made: Plan) -> dict[int, VerdictKind]:
    """The kind of the verdict of each waiting task."""
    return {task_id: verdict.kind for task_id, verdict in made.verdicts.items()}


def order(made: Plan) -> list[int]:
    """The ids of the tasks that still wait, in the order of the queue."""
    placed = {task_id: verdict.position for task_id, verdict in made.verdicts.items()}
    return sorted((task_id for task_id, position in placed.items() if position), key=lambda one: placed[one] or 0)
