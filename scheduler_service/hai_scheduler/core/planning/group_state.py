"""The state that the steps of one node group's plan share: GPUs, quota, waiting tasks and decisions so far."""

from __future__ import annotations

from dataclasses import replace

from hai_scheduler.core.capacity.feasible_nodes import FeasibleNodes
from hai_scheduler.core.capacity.group_capacity import GroupCapacity
from hai_scheduler.core.capacity.preemption import CandidateIndex
from hai_scheduler.core.model.decisions import Decision
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.nodes.node_group import NodeGroup
from hai_scheduler.core.nodes.quarantine import quarantines
from hai_scheduler.core.ordering.discipline import Discipline
from hai_scheduler.core.ordering.fair_share import FairShare
from hai_scheduler.core.ordering.quota import QuotaAccounts
from hai_scheduler.core.ordering.rules import RULES, Rules
from hai_scheduler.core.planning.pending import PendingTasks
from hai_scheduler.core.planning.plan_cache import PlanCache


class GroupState:
    """The state of one node group while it is planned. Nodes that this plan quarantines are marked already (H3)."""

    def __init__(
        self, group: str, snapshot: Snapshot, policy: Policy, discipline: Discipline, cache: PlanCache
    ) -> None:
        """Read the state from a snapshot; `cache` must have been updated with the snapshot."""
        node_group = cache.node_groups.get(group) or NodeGroup(())
        self.group = group
        self.policy, self.now = policy, snapshot.now
        bad = quarantines(node_group.nodes.values(), snapshot.strikes, policy, self.now)
        #: The decisions so far, in order.
        self.decisions: list[Decision] = list(bad)
        if bad:
            marked = [replace(node_group.nodes[each.node], mark=NodeMark.QUARANTINED) for each in bad]
            node_group = NodeGroup((node_group.nodes | {node.name: node for node in marked}).values())
        self.node_group, self.task_index = node_group, cache.groups[group]
        self.turns = self.task_index.turns(policy, self.now, node_group)
        #: If no task waits, no node is needed: the plan only looks for turns that must end, and this is of no node.
        waits = bool(self.task_index.waiting)
        turns = list(self.turns.values())
        self.capacity = GroupCapacity(node_group if waits else NodeGroup(()), turns if waits else ())
        self.nodes = FeasibleNodes(self.capacity)
        self.accounts = QuotaAccounts(cache.quota_table, group, node_group.gpus_per_node, snapshot.counted_low)
        if waits or self.task_index.held:
            self.accounts.begin((turn.task, turn.run.priority) for turn in turns)
        uses = (use for use in snapshot.uses if use.group == group)
        self.rules: Rules = RULES[discipline](
            policy, self.now, FairShare(uses, turns, policy, self.now), snapshot.remaining
        )
        self.candidate_index = CandidateIndex(self.capacity, turns, self.rules)
        self.pending = PendingTasks(self.task_index.waiting)

    def in_quota(self, task: Task, priority: Priority) -> bool:
        """Whether the task is within its quota at that priority (Q1, Q2)."""
        return self.accounts.fits(task.user, priority, self.accounts.units(task))
