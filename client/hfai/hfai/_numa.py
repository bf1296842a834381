"""Reads the processors of each NUMA node, and binds this process to one node's."""

from __future__ import annotations

import os
from pathlib import Path

#: Where Linux says it, a folder `nodeN` with a file `cpulist` for each node.
NODES = Path("/sys/devices/system/node")


def bind(index: int, trainers: int, nodes: Path = NODES) -> None:
    """Let this process run on the processors of its NUMA node only; trainers are spread evenly, in order.

    It does nothing with fewer than two nodes that have processors for this process.
    """
    allowed = os.sched_getaffinity(0)
    shares = [share & allowed for share in read(nodes)]
    shares = [share for share in shares if share]
    if len(shares) > 1:
        os.sched_setaffinity(0, share_of(index, trainers, shares))


def share_of(index: int, trainers: int, shares: list[set[int]]) -> set[int]:
    """Return the processors of a trainer: trainers 0 to 3 of 8 get the first of two nodes, 4 to 7 the second."""
    return shares[index * len(shares) // max(trainers, index + 1)]


def read(nodes: Path = NODES) -> list[set[int]]:
    """Return the processors of each node, in the order of nodes; an empty list if they cannot be read."""
    folders = sorted(nodes.glob("node[0-9]*"), key=lambda folder: int(folder.name[4:]))
    try:
        return [parse((folder / "cpulist").read_text(encoding="ascii")) for folder in folders]
    except (OSError, ValueError):
        return []


def parse(text: str) -> set[int]:
    """Read `0-3,8` as Linux writes it. Raises ValueError."""
    processors: set[int] = set()
    for part in text.strip().split(","):
        if part:
            first, _, last = part.partition("-")
            processors.update(range(int(first), int(last or first) + 1))
    return processors
