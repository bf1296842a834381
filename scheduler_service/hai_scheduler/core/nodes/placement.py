"""On which nodes a gang goes (rules U1, F1, F2, F4). Which of them are open to it the ledger says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

#: Where a node sits: its zone, and its leaf switch in it.
Leaf = tuple[str, str]


def choose(leaves: Mapping[Leaf, Sequence[str]], nodes: int, *, across: bool) -> tuple[str, ...] | None:
    """Names for all ranks at once, in rank order, or None (U1).

    One leaf if it fits, else one zone, else, where `across` allows it (F2), several zones. Best fit first: the
    smallest leaf, and the smallest zone, that is large enough (F1); ties by name (F4).

    Args:
        leaves: The nodes that are open to the gang by leaf, each in order of preference.
        nodes: How many are needed.
        across: Whether the gang may span zones.
    """
    best: tuple[int, Leaf] | None = None
    total = 0
    for leaf, names in leaves.items():
        size = len(names)
        total += size
        if size >= nodes and (best is None or (size, leaf) < best):
            best = size, leaf
    if best is not None:
        return tuple(sorted(leaves[best[1]][:nodes]))
    if total < nodes:
        return None
    zones: defaultdict[str, list[str]] = defaultdict(list)
    by_zone: defaultdict[str, dict[Leaf, Sequence[str]]] = defaultdict(dict)
    for leaf, names in leaves.items():
        zones[leaf[0]] += names
        by_zone[leaf[0]][leaf] = names
    fitting = [(len(names), zone) for zone, names in zones.items() if len(names) >= nodes]
    if fitting:
        return tuple(sorted(_fewest(by_zone[min(fitting)[1]], nodes)))
    if not across:
        return None
    return tuple(sorted(_fewest({(zone, ""): names for zone, names in zones.items()}, nodes)))


def _fewest(parts: Mapping[Leaf, Sequence[str]], nodes: int) -> list[str]:
    """Nodes from as few parts as will do: the largest parts whole, the rest from the part that it fits best."""
    left = dict(parts)
    chosen: list[str] = []
    while len(chosen) < nodes:
        need = nodes - len(chosen)
        enough = [(len(names), leaf) for leaf, names in left.items() if len(names) >= need]
        leaf = min(enough)[1] if enough else min((-len(names), leaf) for leaf, names in left.items())[1]
        chosen += left.pop(leaf)[:need]
    return chosen
