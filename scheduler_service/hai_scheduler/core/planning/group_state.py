"""The state that the steps of one node group's plan share: GPUs, quota, waiting tasks and decisions so far."""

from __future__ import annotations

from dataclasses import replace

from hai_scheduler.core.capacity.feasible_nodes import FeasibleNodes
from hai_scheduler.core.capacity.ledger import Ledger
from hai_scheduler.core.capacity.preemption import Market
from hai_scheduler.core.model.decisions import Decision
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.nodes.floor import Floor
from hai_scheduler.core.nodes.quarantine import quarantines
from hai_scheduler.core.ordering.discipline import Discipline
from hai_scheduler.core.ordering.quota import Accounts
from hai_scheduler.core.ordering.rules import RULES, Rules
from hai_scheduler.core.ordering.user_use import UserUse
from hai_scheduler.core.planning.memory import Memory
from hai_scheduler.core.planning.pending import PendingTasks


class GroupState:
    """The state of one node group while it is planned. Nodes that this plan quarantines are marked already (H3)."""

    def __init__(self, group: str, snapshot: Snapshot, policy: Policy, discipline: Discipline, memory: Memory) -> None:
        """Read the state from a snapshot; `memory` must have been updated with the snapshot."""
        floor = memory.floors.get(group) or Floor(())
        self.policy, self.now = policy, snapshot.now
        bad = quarantines(floor.nodes.values(), snapshot.strikes, policy, self.now)
        #: The decisions so far, in order.
        self.decisions: list[Decision] = list(bad)
        if bad:
            marked = [replace(floor.nodes[each.node], mark=NodeMark.QUARANTINED) for each in bad]
            floor = Floor((floor.nodes | {node.name: node for node in marked}).values())
        self.floor, self.standing = floor, memory.groups[group]
        self.turns = self.standing.turns(policy, self.now, floor)
        #: If no task waits, no node is needed: the plan only looks for turns that must end, and the ledger is empty.
        waits = bool(self.standing.waiting)
        turns = list(self.turns.values())
        self.ledger = Ledger(floor if waits else Floor(()), turns if waits else ())
        self.nodes = FeasibleNodes(self.ledger)
        self.accounts = Accounts(memory.book, group, floor.gpus_per_node)
        if waits or self.standing.held:
            self.accounts.begin((turn.task, turn.run.priority) for turn in turns)
        uses = (use for use in snapshot.uses if use.group == group)
        self.rules: Rules = RULES[discipline](
            policy, self.now, UserUse(uses, turns, policy, self.now), snapshot.remaining
        )
        self.market = Market(self.ledger, turns, self.rules)
        self.pending = PendingTasks(self.standing.waiting)

    def in_quota(self, task: Task, priority: Priority) -> bool:
        """Whether the task is within its quota at that priority (Q1, Q2)."""
        return self.accounts.fits(task.user, priority, self.accounts.units(task))
