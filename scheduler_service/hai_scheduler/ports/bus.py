"""The bus: wakes up everything that waits for a topic."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol


class Bus(Protocol):
    """A doorbell. A ring carries no fact; a lost ring costs latency, never a task."""

    async def ring(self, topic: str) -> None:
        """Wake up all listeners of the topic. Never raises."""
        ...

    def listen(self, *topics: str) -> AbstractAsyncContextManager[Subscription]:
        """A subscription to the topics: rings are kept for it from the moment the context is entered."""
        ...

    async def close(self) -> None:
        """Send the rings that are not sent yet, and close every connection. Never raises."""
        ...


class Subscription(Protocol):
    """A subscription, as `Bus.listen` gives it."""

    async def wait(self, timeout: float | None) -> bool:  # noqa: ASYNC109  # virtual time needs it
        """Wait for the next ring, at most `timeout` seconds (None: without a limit); True if there was one.

        Rings that came before the call are merged into one.
        """
        ...
