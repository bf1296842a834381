"""The choice of nodes for a gang (rules U1, F1, F2, F4). `GroupCapacity` says which nodes the gang may use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Leaf(NamedTuple):
    """Where a node is in the network: its zone, and its leaf switch in that zone."""

    zone: str
    switch: str


def choose(leaves: Mapping[Leaf, Sequence[str]], nodes: int, *, across: bool) -> tuple[str, ...] | None:
    """Choose nodes for all ranks of a gang at once (U1).

    The nodes are of one leaf if the gang fits there, else of one zone, else, where `across` allows it (F2), of several
    zones. Best fit: the smallest leaf, or the smallest zone, that is large enough (F1); ties by name (F4).

    Args:
        leaves: Names of the nodes that the gang may use, by leaf, each in order of preference.
        nodes: How many nodes the gang needs.
        across: Whether the gang may span zones.

    Returns:
        Names of nodes in rank order, or None if the gang does not fit.
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
        zones[leaf.zone] += names
        by_zone[leaf.zone][leaf] = names
    fitting = [(len(names), zone) for zone, names in zones.items() if len(names) >= nodes]
    if fitting:
        return tuple(sorted(_fewest(by_zone[min(fitting)[1]], nodes)))
    if not across:
        return None
    return tuple(sorted(_fewest({Leaf(zone, ""): names for zone, names in zones.items()}, nodes)))


def _fewest(parts: Mapping[Leaf, Sequence[str]], nodes: int) -> list[str]:
    """Choose nodes from as few parts as possible: the largest parts whole, the rest from the best-fitting part."""
    left = dict(parts)
    chosen: list[str] = []
    while len(chosen) < nodes:
        need = nodes - len(chosen)
        enough = [(len(names), leaf) for leaf, names in left.items() if len(names) >= need]
        leaf = min(enough)[1] if enough else min((-len(names), leaf) for leaf, names in left.items())[1]
        chosen += left.pop(leaf)[:need]
    return chosen
