"""The nodes of one node group while a plan is made: the turns that hold them, and their promises (U2, B3, F5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.nodes.node_group import NodeGroup
from hai_scheduler.core.nodes.placement import Leaf
from hai_scheduler.core.ordering.turns import Turn


@dataclass(frozen=True, slots=True)
class Promise:
    """GPUs of a node that are promised to a waiting task (B3)."""

    task_id: TaskId
    priority: Priority
    gpus: int


@dataclass(slots=True, eq=False)
class NodeState:
    """One node while a plan is made. A node without GPUs counts as having one, so that it can be held."""

    node: Node
    size: int
    #: Indices of GPUs that no run holds. Pods of others may have some of them (`taken`); which ones is not known.
    free: list[int]
    #: Whether new runs may be placed here (F3).
    usable: bool
    turns: list[Turn]
    promises: list[Promise]
    #: Whether the node is reserved for the head of the queue (B1).
    reserved: bool = False
    #: How many GPUs pods from outside of HAI keep from runs (F5); as good as a promise that never gives way.
    taken: int = 0
    #: How many GPUs the pools show as open.
    shown: int = 0

    @property
    def name(self) -> str:
        """The node's name."""
        return self.node.name

    @property
    def leaf(self) -> Leaf:
        """The zone and the leaf of the node."""
        return Leaf(self.node.zone, self.node.leaf)

    def amount(self, task: Task) -> int:
        """Return how many GPUs the task takes of the node: all, or its k (U2), which may be more than there are."""
        return self.size if task.gpus is None else task.gpus

    def leaving(self) -> int:
        """Return how many GPUs are held by runs that have been told to leave."""
        return sum([held_by(turn, self) for turn in self.turns if turn.leaving])

    def kept(self, priority: Priority | None = None) -> int:
        """Return how many GPUs are promised (if a priority is given, at that or a higher one), or taken (F5)."""
        if not self.promises:
            return self.taken
        promised = [promise.gpus for promise in self.promises if priority is None or promise.priority >= priority]
        return self.taken + sum(promised)

    def open(self) -> int:
        """Return how many GPUs are open to every task now; below 0 if more are promised than are free yet."""
        if self.reserved or not self.usable:
            return 0
        return len(self.free) - self.kept()

    def suits(self, task: Task) -> bool:
        """Whether the task may be placed on the node once it is free (F3, F5)."""
        return self.usable and self.node.name not in task.avoid and self.node.holds(task.gpus)

    def kept_from(self, task: Task, priority: Priority) -> int:
        """Return how many GPUs are taken (F5), or promised to others in a way the task must respect (B3, P5)."""
        if not self.promises:
            return self.taken
        others = [promise for promise in self.promises if promise.task_id != task.id]
        return self.taken + sum([p.gpus for p in others if p.priority >= priority or p.task_id == task.left_for])


def held_by(turn: Turn, node_state: NodeState) -> int:
    """Return how many GPUs of the node the turn holds."""
    return node_state.size if turn.task.gpus is None else turn.task.gpus


class NodeStates(dict[str, NodeState]):
    """The nodes by name. Each is made when it is first read, since most are held by gangs and never needed.

    So use only `node_states[name]`, which raises KeyError for an unknown node, `find` and `all`.
    """

    def __init__(self, node_group: NodeGroup, gangs: list[Turn]) -> None:
        """Take the nodes of the group; `gangs` hold whole nodes, and no two of them the same node."""
        self._node_group = node_group
        self._gangs = {name: turn for turn in gangs for name in turn.nodes}

    def __missing__(self, name: str) -> NodeState:
        node, gang = self._node_group.nodes[name], self._gangs.get(name)
        free, turns = (list(range(node.size)), []) if gang is None else ([], [gang])
        usable = name in self._node_group.usable
        made = self[name] = NodeState(node, node.size, free, usable, turns, [], taken=node.taken)
        return made

    def find(self, name: str) -> NodeState | None:
        """Return the node, or None if the group has it no more: a node that a run holds may be gone."""
        return self[name] if name in self._node_group.nodes else None

    def all(self) -> Iterator[NodeState]:
        """Yield all nodes, in order of names."""
        return (self[name] for name in self._node_group.nodes)

    def of_gangs(self) -> set[str]:
        """Return the names of usable nodes that a gang holds, and that are all free when it has left (F5)."""
        return (self._node_group.usable & self._gangs.keys()) - self._node_group.crowded
