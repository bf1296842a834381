"""Facts of a node group that change only when its nodes change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from operator import attrgetter

from hai_scheduler.core.model.node import Node, NodeMark
from hai_scheduler.core.model.task import Task


def largest(nodes: Iterable[Node]) -> dict[str, int]:
    """Return the number of GPUs of the largest node, by node group."""
    found: dict[str, int] = {}
    for node in nodes:
        found[node.group] = max(found.get(node.group, 0), node.gpus)
    return found


class NodeGroup:
    """The nodes of one node group by name, and counts of them by GPUs."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.nodes = {node.name: node for node in sorted(nodes, key=attrgetter("name"))}
        #: Names of nodes that new runs may be placed on (F3), and of nodes that are being drained.
        self.usable = {node.name for node in self.nodes.values() if node.schedulable}
        self.draining = {node.name for node in self.nodes.values() if node.mark is NodeMark.DRAINING or node.leaving}
        #: Names of nodes of which pods from outside of HAI have a part (F5).
        self.crowded = {node.name for node in self.nodes.values() if node.taken}
        #: The zone of each node.
        self.zone_of = {name: node.zone for name, node in self.nodes.items()}
        self.zones = sorted(set(self.zone_of.values()))
        self._sizes = Counter([node.gpus for node in self.nodes.values()])
        self._usables = Counter([node.gpus - node.taken for name in self.usable if (node := self.nodes[name])])
        #: The largest number of GPUs of any node of the group.
        self.gpus_per_node = max(self._sizes, default=0)
        #: Whether nodes of the group have different numbers of GPUs: shared-node tasks then may not fit on all of them.
        self.mixed = len(self._sizes) > 1

    def spans_zones(self, names: Collection[str]) -> bool:
        """Whether the nodes with these names, where they still exist, lie in more than one zone (F2)."""
        return len(names) > 1 and len({zone for name in names if (zone := self.zone_of.get(name)) is not None}) > 1

    def most(self, gpus: int | None) -> int:
        """Return how many nodes of the group have at least that many GPUs (None: how many nodes there are)."""
        return _at_least(gpus, self._sizes)

    def can_ever(self, task: Task) -> bool:
        """Whether the task would fit into the group if every node were free and usable (Q5)."""
        return task.nodes <= self.most(task.gpus)

    def can_avoid(self, task: Task) -> bool:
        """Whether enough usable nodes are left for the task without those that it avoids (F3)."""
        unlucky = [self.nodes[name] for name in task.avoid & self.usable]
        fitting = sum(node.holds(task.gpus) for node in unlucky)
        there = len(self.usable - self.crowded) if task.gpus is None else _at_least(task.gpus, self._usables)
        return task.nodes <= there - fitting


def _at_least(gpus: int | None, nodes: Mapping[int, int]) -> int:
    """Return how many nodes have at least that many GPUs (None: all). `nodes` counts nodes by their GPUs."""
    return sum([count for size, count in nodes.items() if gpus is None or size >= gpus])
