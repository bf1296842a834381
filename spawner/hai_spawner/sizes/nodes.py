"""Read nodes and pods for the spawn page, and share one reading among requests of the same moment.

KubeSpawner's reflectors cannot watch nodes (they name every object by its namespace), and they give up when the API
server does not answer for a minute. Spawns are rare, so each one reads the lists.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from hai_spawner.sizes.capacity import Json

#: Seconds for which a reading is used again.
FRESH_S: Final = 2.0
_TIMEOUT_S: Final = 5.0


class Unreadable(Exception):
    """Nodes or pods cannot be read; the text says why."""


@dataclass(frozen=True, slots=True)
class NodeListing:
    """The API server's lists of nodes and pods."""

    nodes: tuple[Json, ...]  #: The nodes of the node groups.
    pods: tuple[Json, ...]  #: Pods that may be on these nodes.


@dataclass(slots=True)
class CapacityReader:
    """Reads nodes by a label selector and pods of a namespace, at most once in `FRESH_S` seconds."""

    api: Any  #: A CoreV1Api of kubernetes_asyncio.
    selector: str  #: Label selector of the nodes.
    namespace: str | None  #: Namespace of the pods; None: all namespaces.
    clock: Callable[[], float] = time.monotonic  #: Returns monotonic time in seconds.
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _last: tuple[float, NodeListing] | None = None

    async def read(self) -> NodeListing:
        """Return the current nodes and pods.

        Raises:
            Unreadable: The API server does not answer, or refuses the request.
        """
        async with self._lock:
            if self._last is not None and self.clock() - self._last[0] < FRESH_S:
                return self._last[1]
            try:
                async with asyncio.timeout(_TIMEOUT_S):
                    nodes, pods = await asyncio.gather(self._nodes(), self._pods())
            except Unreadable:
                raise
            except Exception as error:
                raise Unreadable(f"the Kubernetes API server does not answer ({type(error).__name__})") from error
            reading = NodeListing(nodes, pods)
            self._last = (self.clock(), reading)
            return reading

    async def _nodes(self) -> tuple[Json, ...]:
        answer = await self.api.list_node(label_selector=self.selector, _preload_content=False)
        return await _items(answer, "nodes")

    async def _pods(self) -> tuple[Json, ...]:
        if self.namespace is None:
            answer = await self.api.list_pod_for_all_namespaces(_preload_content=False)
        else:
            answer = await self.api.list_namespaced_pod(self.namespace, _preload_content=False)
        return await _items(answer, "pods")


async def _items(answer: Any, what: str) -> tuple[Json, ...]:
    body = await answer.read()
    if answer.status != 200:
        raise Unreadable(f"the Hub may not list {what} (status {answer.status}): its role needs the verb list")
    return tuple(json.loads(body)["items"])
