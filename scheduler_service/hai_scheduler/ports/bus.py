"""The bus: it wakes up who waits for a topic."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol


class Bus(Protocol):
    """A doorbell. A ring carries no fact; a lost ring costs latency, never a task."""

    async def ring(self, topic: str) -> None:
        """Wake everybody who listens to the topic. Never raises."""
        ...

    def listen(self, *topics: str) -> AbstractAsyncContextManager[Ears]:
        """Rings from the moment of entering on are kept until waited for."""
        ...

    async def close(self) -> None:
        """Ring what was still to be rung and let go of every connection. Never raises."""
        ...


class Ears(Protocol):
    """What `Bus.listen` gives."""

    async def wait(self, timeout: float | None) -> bool:  # noqa: ASYNC109  # virtual time needs it
        """Wait for the next ring, at most `timeout` seconds; whether there was one. Rings are merged."""
        ...
