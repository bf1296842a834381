"""What the buses between processes share: who listens in this process, and the rings for all topics."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

from hai_scheduler.ports.bus import Bus, Subscription

#: In place of a topic: rings every topic.
ALL: Final = "*"


class RelayedBus:
    """The part of a bus between processes that knows the listeners of this process.

    Args:
        here: The bus of this process, which the listeners wait at.
    """

    def __init__(self, here: Bus) -> None:
        self._here = here
        self._listened: Counter[str] = Counter()

    def listen(self, *topics: str) -> AbstractAsyncContextManager[Subscription]:
        """Listen to topics. Rings since the moment of entering are kept until waited for."""
        return self._listen(topics)

    @asynccontextmanager
    async def _listen(self, topics: tuple[str, ...]) -> AsyncIterator[Subscription]:
        self._listened.update(topics)
        try:
            async with self._here.listen(*topics) as ears:
                yield ears
        finally:
            for topic in topics:
                self._listened[topic] -= 1
                if not self._listened[topic]:
                    del self._listened[topic]

    async def _ring_here(self, topic: str) -> None:
        """Wake the listeners of this process: those to the topic, or all of them for `ALL`."""
        for one in list(self._listened) if topic == ALL else [topic]:
            await self._here.ring(one)
