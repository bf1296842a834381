"""Nodes on which ranks have just found no room (rule F5)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from hai_scheduler.core.model.node import Node

#: How long a node is taken for as full as it was found: pods from outside of HAI may be unseen, or come late.
FULL_FOR: Final = timedelta(minutes=5)


class Crowds:
    """The room on nodes that turned out to have less of it than was known."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[datetime, int, int | None]] = {}

    def note(self, node: str, now: datetime, *, beside: int, gpus: int | None) -> None:
        """Take note that a rank has found no room.

        Args:
            node: Its node.
            now: The time.
            beside: How many GPUs other ranks had there.
            gpus: How many it wanted; None: the whole node.
        """
        self._found[node] = (now, beside, gpus)

    def seen_on(self, node: Node, now: datetime) -> Node:
        """Return the node with the room that was found there, if that was not long ago."""
        found = self._found.get(node.name)
        if found is None:
            return node
        at, beside, gpus = found
        if now - at >= FULL_FOR:
            del self._found[node.name]
            return node
        room = beside + (gpus or node.size) - 1
        return replace(node, room=room if node.room is None else min(room, node.room))
