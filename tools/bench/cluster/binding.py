"""When pods are bound to their nodes, as a watch shows it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from kubernetes.aio import client, watch

#: Seconds; no step of the benchmark takes longer.
PATIENCE_S = 600


@dataclass(slots=True)
class Bindings:
    """The pods of a namespace: when each was first seen, and when bound, seconds of a steady clock."""

    api: client.ApiClient
    namespace: str
    seen: dict[str, float] = field(default_factory=dict)
    bound: dict[str, float] = field(default_factory=dict)
    #: Names of the pods that were bound, by uid.
    names: dict[str, str] = field(default_factory=dict)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator[Bindings]:
        """A context in which the pods are watched."""
        task = asyncio.create_task(self._watch())
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _watch(self) -> None:
        core = client.CoreV1Api(self.api)
        while True:
            async with watch.Watch() as events:
                async for event in events.stream(core.list_namespaced_pod, self.namespace):
                    self._take(event["type"], event["raw_object"])

    def _take(self, kind: str, pod: dict[str, dict[str, str]]) -> None:
        uid = pod["metadata"]["uid"]
        self.seen.setdefault(uid, time.monotonic())
        if kind != "DELETED" and pod["spec"].get("nodeName"):
            self.bound.setdefault(uid, time.monotonic())
            self.names[uid] = pod["metadata"]["name"]
        self._changed.set()

    async def until(self, met: Callable[[Bindings], bool], what: str) -> None:
        """Wait until `met` is true.

        Raises:
            TimeoutError: It is not true in time; the message says `what` did not happen.
        """
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not met(self):
                    await self._changed.wait()
                    self._changed.clear()
        except TimeoutError:
            raise TimeoutError(f"{what} did not happen within {PATIENCE_S} s: {len(self.bound)} pods bound") from None
