"""Reads nodes and pods for the spawn page: fresh enough to decide by, and not once for every reader.

KubeSpawner's reflectors cannot watch nodes (they name every object by its namespace), and they give up when the API
server is away for a minute. A spawn is rare: it reads.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from hai_spawner.sizes.capacity import Json

#: Seconds that a reading is good for.
FRESH_S: Final = 2.0
_TIMEOUT_S: Final = 5.0


class Unreadable(Exception):
    """Nodes or pods cannot be read; the text says why."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What the API server lists.

    Attributes:
        nodes: The nodes of the groups.
        pods: Pods that may be on them.
    """

    nodes: tuple[Json, ...]
    pods: tuple[Json, ...]


@dataclass(slots=True)
class NodeReader:
    """Nodes by a label selector and pods of a namespace, read at most every `FRESH_S`.

    Attributes:
        api: A CoreV1Api of kubernetes_asyncio.
        selector: Label selector of the nodes.
        namespace: Where the pods are; None: everywhere.
        clock: Seconds that only grow.
    """

    api: Any
    selector: str
    namespace: str | None
    clock: Callable[[], float] = time.monotonic
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _last: tuple[float, Reading] | None = None

    async def read(self) -> Reading:
        """The nodes and pods there are.

        Raises:
            Unreadable: The API server does not answer, or refuses.
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
                message = f"the Kubernetes API server does not answer ({type(error).__name__})"
                raise Unreadable(message) from error
            reading = Reading(nodes, pods)
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
        message = f"the Hub may not list {what} (status {answer.status}): its role needs the verb list"
        raise Unreadable(message)
    return tuple(json.loads(body)["items"])
