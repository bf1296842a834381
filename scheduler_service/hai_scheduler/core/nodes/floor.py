"""The nodes of one node group: what of them stays as it is for as long as they do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from operator import attrgetter

from hai_scheduler.core.model.node import Node, NodeMark
from hai_scheduler.core.model.task import Task


class Floor:
    """The nodes of one node group, by name, and how many of them have how many GPUs."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.nodes = {node.name: node for node in sorted(nodes, key=attrgetter("name"))}
        #: Nodes that new runs may be placed on (F3), and nodes that are to be emptied.
        self.usable = {node.name for node in self.nodes.values() if node.schedulable}
        self.draining = {node.name for node in self.nodes.values() if node.mark is NodeMark.DRAINING}
        #: Where each node sits.
        self.zone_of = {name: node.zone for name, node in self.nodes.items()}
        self.zones = sorted(set(self.zone_of.values()))
        self._sizes = Counter([node.gpus for node in self.nodes.values()])
        self._usables = Counter([self.nodes[name].gpus for name in self.usable])
        #: The most GPUs that a node of the group has.
        self.gpus_per_node = max(self._sizes, default=0)
        #: Whether its nodes differ in GPUs, so that a count of nodes does not say enough for k-GPU tasks.
        self.mixed = len(self._sizes) > 1

    def spans_zones(self, names: Collection[str]) -> bool:
        """Whether the nodes, as far as they are there, lie in more than one zone (F2)."""
        return len(names) > 1 and len({zone for name in names if (zone := self.zone_of.get(name)) is not None}) > 1

    def most(self, gpus: int | None) -> int:
        """How many nodes of the group have that many GPUs (None: how many nodes there are)."""
        return _at_least(gpus, self._sizes)

    def can_ever(self, task: Task) -> bool:
        """Whether the group is large enough for the task, all of it being free and in order (Q5)."""
        return task.nodes <= self.most(task.gpus)

    def can_avoid(self, task: Task) -> bool:
        """Whether enough nodes that can be used are left without those that the task was unlucky on (F3)."""
        unlucky = [self.nodes[name] for name in task.avoid & self.usable]
        fitting = sum(task.gpus is None or task.gpus <= node.gpus for node in unlucky)
        return task.nodes <= _at_least(task.gpus, self._usables) - fitting


def _at_least(gpus: int | None, nodes: Mapping[int, int]) -> int:
    """How many of the nodes, counted by their GPUs, have that many (None: all)."""
    return sum([count for size, count in nodes.items() if gpus is None or size >= gpus])
