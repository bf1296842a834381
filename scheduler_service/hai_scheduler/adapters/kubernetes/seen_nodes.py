"""The nodes of the platform: what Kubernetes shows of them, and what pods there have taught."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from hai_scheduler.adapters.kubernetes.crowds import Crowds
from hai_scheduler.adapters.kubernetes.foreign_pods import ForeignPods
from hai_scheduler.adapters.kubernetes.informer import Thing
from hai_scheduler.adapters.kubernetes.nodes import NodeReader, not_ready_since
from hai_scheduler.adapters.kubernetes.resources import capacity_of
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.core.model.node import Node


class SeenNodes:
    """Reads nodes when they, or pods from outside of HAI on them, have changed; a tick reads nothing again.

    Args:
        settings: The settings of the cluster.
        wake: Called when a node of the platform may have changed.
    """

    def __init__(self, settings: ClusterSettings, wake: Callable[[], None]) -> None:
        self._settings = settings
        self._wake = wake
        self._reader = NodeReader(settings)
        self._things: dict[str, Thing] = {}
        #: Kubernetes nodes as the platform's, by name; None: in no group.
        self._read: dict[str, Node | None] = {}
        #: Names of nodes on which pods from outside of HAI have changed.
        self._stirred: set[str] = set()
        #: Since when nodes are not ready, by name.
        self.unready: dict[str, datetime] = {}
        self.foreign = ForeignPods(settings, self._stir)
        self.crowds = Crowds()
        self.evictions = Evictions()

    def changed(self, before: Thing | None, after: Thing | None) -> None:
        """Take in a change of a node."""
        name = (after or before or {})["metadata"]["name"]
        old = self._read.pop(name, None)
        self._things.pop(name, None)
        self.unready.pop(name, None)
        new = None
        if after is not None:
            self._things[name] = after
            new = self._read[name] = self._with_room(after)
            if (since := not_ready_since(after)) is not None:
                self.unready[name] = since
        # Heartbeats come often and say nothing.
        if old != new:
            self._wake()

    def all(self, now: datetime) -> list[Node]:
        """Return the nodes of the platform, by name."""
        self._settle()
        nodes = (self.crowds.seen_on(node, now) for node in self._read.values() if node is not None)
        return sorted((self.evictions.closed(node, now) for node in nodes), key=lambda node: node.name)

    def _with_room(self, thing: Thing) -> Node | None:
        """Return the node as the platform's, with the room that pods from outside of HAI leave on it (F5)."""
        node = self._reader.read(thing)
        if node is None or not self._settings.foreign_pods:
            return node
        room = self.foreign.room(node.name, capacity_of(thing, self._settings.gpu_resources))
        return node if room.gpus is None else replace(node, room=room.gpus, crowd=room.crowd)

    def _stir(self, name: str) -> None:
        """Note that pods on a node have changed. Many may change at once: each node is read again once."""
        if not self._stirred:
            asyncio.get_running_loop().call_soon(self._settle)
        self._stirred.add(name)

    def _settle(self) -> None:
        changed = False
        while self._stirred:
            name = self._stirred.pop()
            if (before := self._read.get(name)) is not None:
                self._read[name] = self._with_room(self._things[name])
                changed |= before != self._read[name]
        if changed:
            self._wake()


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
