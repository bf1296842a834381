"""Tells listeners that something may have changed on a scripted cluster."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncIterator, Iterable
from datetime import datetime

from hai_scheduler.adapters.system.local_bus import wait_until_set
from hai_scheduler.ports.clock import Clock


class ScriptedChanges:
    """The changes on a cluster: those that calls make, and those that come by themselves at a time that is known."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        #: Times at which something happens by itself, and how many of them have passed.
        self._due: list[datetime] = []
        self._passed = 0
        self._listeners: set[asyncio.Event] = set()
        self._closings = 0

    def tell(self, times: Iterable[datetime] = ()) -> None:
        """Tell all listeners of a change; `times` are those at which more will happen by itself."""
        for when in times:
            heapq.heappush(self._due, when)
        for rung in self._listeners:
            rung.set()

    def close(self) -> None:
        """End all iterators; later ones go on as usual."""
        self._closings += 1
        self.tell()

    async def listen(self) -> AsyncIterator[None]:
        """Yield whenever something may have changed, until `close`."""
        rung = asyncio.Event()
        closings, seen = self._closings, self._happened()
        self._listeners.add(rung)
        try:
            while True:
                if self._happened() == seen:
                    await wait_until_set(rung, self._clock, self._until_next())
                rung.clear()
                if self._closings != closings:
                    return
                seen = self._happened()
                yield
        finally:
            self._listeners.discard(rung)

    def _happened(self) -> int:
        """Return how many things have happened by themselves until now."""
        now = self._clock.now()
        while self._due and self._due[0] <= now:
            heapq.heappop(self._due)
            self._passed += 1
        return self._passed

    def _until_next(self) -> float | None:
        """Return the seconds until something happens by itself; None if nothing will."""
        now = self._clock.now()
        return (self._due[0] - now).total_seconds() if self._due else None
