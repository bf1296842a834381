"""The GPUs that are open to every task of a node group, indexed so that a search need not examine every node."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable

from hai_scheduler.core.capacity.node_states import NodeState
from hai_scheduler.core.nodes.placement import Leaf


class FreePools:
    """Nodes by how many of their GPUs are open: whole nodes by leaf, shared ones by the number of open GPUs.

    Each node is in the one list for its number of `shown` GPUs, in order of names, and in no list if it shows none.
    """

    def __init__(self, node_states: Iterable[NodeState]) -> None:
        """Index the nodes that may have open GPUs, given in order of names."""
        #: Whole nodes by leaf, and how many there are.
        self.empty: defaultdict[Leaf, list[str]] = defaultdict(list)
        self.empties = 0
        #: Shared nodes by their open GPUs.
        self.shared: defaultdict[int, list[str]] = defaultdict(list)
        for node_state in node_states:  # in order of names: appending keeps each list sorted
            shown = max(0, node_state.open())
            node_state.shown = shown
            if shown == node_state.size:
                self.empty[node_state.leaf].append(node_state.node.name)
                self.empties += 1
            elif shown:
                self.shared[shown].append(node_state.node.name)

    def update(self, node_state: NodeState) -> None:
        """Index the GPUs that are open on the node now."""
        before, now = node_state.shown, max(0, node_state.open())
        if before == now:
            return
        if before:
            self._remove(node_state, before)
        if now == node_state.size:
            insort(self.empty[node_state.leaf], node_state.node.name)
            self.empties += 1
        elif now:
            insort(self.shared[now], node_state.node.name)
        node_state.shown = now

    def _remove(self, node_state: NodeState, shown: int) -> None:
        if shown == node_state.size:
            names = self.empty[node_state.leaf]
            self.empties -= 1
        else:
            names = self.shared[shown]
        del names[bisect_left(names, node_state.node.name)]

    def count(self, gpus: int | None, gpus_per_node: int) -> int:
        """Return on how many nodes any task could take that many GPUs (None: whole nodes).

        `gpus_per_node` is the most GPUs of any node of the group: a task that asks for more does not fit.
        """
        if gpus is None:
            return self.empties
        parts = sum(len(names) for shown, names in self.shared.items() if shown >= gpus)
        return parts + (self.empties if gpus <= gpus_per_node else 0)

    def best_shared(self, gpus: int) -> str | None:
        """Return the shared node where `gpus` GPUs leave the fewest others, ties by name (U2, F4), or None."""
        for shown in sorted(self.shared):
            if shown >= gpus and self.shared[shown]:
                return self.shared[shown][0]
        return None

    def names(self, gpus: int | None) -> list[str]:
        """Return nodes where any task could take that many GPUs, empty nodes last; only empty ones for whole nodes."""
        found = [name for shown, part in self.shared.items() for name in part if gpus and shown >= gpus]
        found += [name for part in self.empty.values() for name in part]
        return found

    def check(self, node_states: Iterable[NodeState]) -> None:
        """Raise AssertionError if a node shows another number of GPUs than are open, or is in a wrong list."""
        listed = {name: size for size, names in self.shared.items() for name in names}
        whole = {name: leaf for leaf, names in self.empty.items() for name in names}
        assert len(whole) == self.empties, f"{self.empties} whole nodes are counted, {len(whole)} are listed"
        for lists in (self.shared.values(), self.empty.values()):
            assert all(names == sorted(set(names)) for names in lists), "a list of nodes is out of order"
        for node_state in node_states:
            shown = max(0, node_state.open())
            assert node_state.shown == shown, f"{node_state.name} shows {node_state.shown} GPUs, {shown} are open"
            assert whole.get(node_state.name) == (node_state.leaf if shown == node_state.size else None), (
                node_state.name
            )
            assert listed.get(node_state.name, 0) == (0 if shown == node_state.size else shown), node_state.name
