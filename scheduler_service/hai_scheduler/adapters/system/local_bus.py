"""The bus within one process."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from hai_scheduler.adapters.system.clock import SystemClock
from hai_scheduler.ports.clock import Clock


class MemoryEars:
    """A listener, which remembers whether there was a ring since it last waited."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._rung = asyncio.Event()

    def hear(self) -> None:
        """Remember a ring."""
        self._rung.set()

    async def wait(self, timeout: float | None) -> bool:  # noqa: ASYNC109 - the port says so, and virtual time needs it
        """Wait for the next ring, at most `timeout` seconds. Returns whether there was one. Rings are merged.

        A wait that is cancelled consumes no ring.
        """
        rung = await wait_until_set(self._rung, self._clock, timeout)
        if rung:
            self._rung.clear()
        return rung


class MemoryBus:
    """The bus within one process and one event loop.

    Args:
        clock: The clock of timeouts; virtual in tests and in the simulator.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._listeners: defaultdict[str, set[MemoryEars]] = defaultdict(set)

    async def ring(self, topic: str) -> None:
        """Wake all listeners to the topic. Never raises."""
        for ears in self._listeners.get(topic, ()):
            ears.hear()

    def listen(self, *topics: str) -> AbstractAsyncContextManager[MemoryEars]:
        """Listen to topics. Rings since the moment of entering are kept until waited for."""
        return self._listen(topics)

    async def close(self) -> None:
        """Do nothing: there is no connection to close."""

    @asynccontextmanager
    async def _listen(self, topics: tuple[str, ...]) -> AsyncIterator[MemoryEars]:
        ears = MemoryEars(self._clock)
        for topic in topics:
            self._listeners[topic].add(ears)
        try:
            yield ears
        finally:
            for topic in set(topics):
                self._listeners[topic].discard(ears)
                # Otherwise topics of ended tasks would accumulate.
                if not self._listeners[topic]:
                    del self._listeners[topic]


async def wait_until_set(event: asyncio.Event, clock: Clock, seconds: float | None) -> bool:
    """Wait for the event, at most `seconds` of the clock's time (None: no limit). Returns whether it is set."""
    if seconds is None:
        return await event.wait()
    if event.is_set() or seconds <= 0:
        return event.is_set()
    waits = [asyncio.ensure_future(event.wait()), asyncio.ensure_future(clock.sleep(seconds))]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
    return event.is_set()
