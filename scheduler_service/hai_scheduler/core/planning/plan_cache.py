"""What one plan remembers for the next, so that only changes are examined.

Of ten thousand tasks a handful changes in a second. A task object never changes but is replaced, so the same object is
the same task. A plan with an empty memory starts from scratch, and decides the same (docs/decisions/0015).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.policy import Policies, Policy
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.nodes.node_group import NodeGroup
from hai_scheduler.core.ordering.discipline import Discipline
from hai_scheduler.core.ordering.quota import QuotaTable
from hai_scheduler.core.planning.task_index import TaskIndex

_LONG_AGO = datetime.min.replace(tzinfo=UTC)
#: How many tasks are compared at once.
_BLOCK = 128


class PlanCache:
    """The tasks and nodes of the last plan by node group, and its rows of quota.

    A plan that was not finished leaves nothing for the next one.
    """

    def __init__(self) -> None:
        self.groups: defaultdict[str, TaskIndex] = defaultdict(TaskIndex)
        self.node_groups: dict[str, NodeGroup] = {}
        self.quota_table = QuotaTable((), {}, _LONG_AGO)
        self._finished = True
        self._rules: tuple[Policy | Policies, Discipline] | None = None
        self._rows: tuple[tuple[Quota, ...], Mapping[str, frozenset[str]]] = ((), {})
        self._now = _LONG_AGO
        self._nodes: tuple[Node, ...] = ()
        self._tasks: tuple[Task, ...] = ()

    def update(self, snapshot: Snapshot, policies: Policy | Policies, discipline: Discipline) -> None:
        """Take in what has changed since the last plan. The planner calls `finished` when the plan is made."""
        self._update_tasks(snapshot, (policies, discipline))
        if snapshot.nodes != self._nodes:
            self._nodes = snapshot.nodes
            nodes: defaultdict[str, list[Node]] = defaultdict(list)
            for node in snapshot.nodes:
                nodes[node.group].append(node)
            self.node_groups = {group: NodeGroup(members) for group, members in nodes.items()}
        rows = (snapshot.quotas, dict(snapshot.groups_of))
        if self._rows != rows or not self._now <= snapshot.now < self.quota_table.good_until:
            self._rows, self.quota_table = rows, QuotaTable(*rows, snapshot.now)
        self._now = snapshot.now

    def finished(self) -> None:
        """Note that the plan was made."""
        self._finished = True

    def _update_tasks(self, snapshot: Snapshot, rules: tuple[Policy | Policies, Discipline]) -> None:
        """Take in changed tasks; take in all tasks if policy or discipline changed, or if the clock was set back."""
        if not self._finished or self._rules != rules or snapshot.now < self._now:
            self.groups.clear()
            self._tasks = ()
        self._rules, self._finished = rules, False
        gone, come = differences(self._tasks, snapshot.tasks)
        for task in gone:
            self.groups[task.group].remove(task)
        for task in come:
            self.groups[task.group].add(task)
        self._tasks = snapshot.tasks


def differences(before: Sequence[Task], now: Sequence[Task]) -> tuple[list[Task], list[Task]]:
    """Return the tasks that have gone and those that have come; a task that has changed or moved is in both.

    Sequences in order of id are fastest: blocks without a change are then compared at once.
    """
    gone: list[Task] = []
    come: list[Task] = []
    at, to = 0, 0
    while at < len(before) and to < len(now):
        if before[at : at + _BLOCK] == now[to : to + _BLOCK]:
            at, to = at + _BLOCK, to + _BLOCK
            continue
        for _ in range(_BLOCK):
            if at >= len(before) or to >= len(now):
                break
            old, new = before[at], now[to]
            if old.id <= new.id:
                at += 1
                if old is not new:
                    gone.append(old)
            if new.id <= old.id:
                to += 1
                if old is not new:
                    come.append(new)
    return [*gone, *before[at:]], [*come, *now[to:]]
