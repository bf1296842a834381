"""On which nodes a gang goes (rules U1, F3, F4). Which of them are open to it the ledger says."""

from __future__ import annotations

from collections.abc import Sequence


def place(free: Sequence[str], nodes: int) -> tuple[str, ...] | None:
    """Names for all ranks at once, in rank order, or None (U1). `free` is in order of preference."""
    if len(free) < nodes:
        return None
    return tuple(sorted(free[:nodes]))
