"""Nodes whose kubelet has just evicted a rank: nothing starts there until the node itself tells how it is."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from hai_scheduler.core.model.node import Node

#: A kubelet tells the API server of a pressure with its next status, by default every 10 s, and then the node gets a
#: taint, which stays for 5 min. A gang that started in between would go where its last run had no room.
CLOSED_FOR: Final = timedelta(minutes=1)


class Evictions:
    """The latest eviction on each node, in the kubelet's words."""

    def __init__(self) -> None:
        self._latest: dict[str, tuple[datetime, str]] = {}

    def note(self, node: str, words: str, now: datetime) -> None:
        """Take note of an eviction."""
        self._latest[node] = (now, words)

    def closed(self, node: Node, now: datetime) -> Node:
        """Return the node, closed if its kubelet has just evicted a rank."""
        at, words = self._latest.get(node.name, (None, ""))
        if at is None:
            return node
        if now - at >= CLOSED_FOR:
            del self._latest[node.name]
            return node
        why = f"it has just evicted a rank ({words.rstrip('.')})"
        return replace(node, closed=True, message="; ".join(filter(None, (node.message, why))))
