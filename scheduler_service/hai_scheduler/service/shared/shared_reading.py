"""A source that grows, read once for all its followers."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class SharedReading(ABC):
    """A reader that works while it has followers.

    A follower looks at what was read, and then waits for more. When reading fails, all followers get the error, and
    this reader ends.
    """

    def __init__(self) -> None:
        self._followers = 0
        self._reading: asyncio.Task[None] | None = None
        self._moved = asyncio.Event()
        self._error: Exception | None = None

    @property
    def failed(self) -> bool:
        """True if reading has failed; then nothing more is read."""
        return self._error is not None

    @property
    def followed(self) -> bool:
        """True if there is a follower."""
        return self._followers > 0

    @asynccontextmanager
    async def followed_by_me(self) -> AsyncIterator[None]:
        """Follow the reader until the context ends; when the last follower leaves, the reader ends."""
        self._followers += 1
        try:
            if self._reading is None:
                self._reading = asyncio.create_task(self._read_safely())
            yield
        finally:
            self._followers -= 1
            if not self._followers and self._reading is not None:
                reading, self._reading = self._reading, None
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)

    async def more(self, seconds: float) -> bool:
        """Wait until more was read, at most `seconds`; True if more was read. Raises the error of the reader."""
        self.check()
        moved = self._moved
        try:
            async with asyncio.timeout(seconds):
                await moved.wait()
        except TimeoutError:
            return False
        self.check()
        return True

    def check(self) -> None:
        """Raise the error of the reader, if it has failed."""
        if self._error is not None:
            raise self._error

    def tell(self) -> None:
        """Wake all followers who wait for more."""
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    @abstractmethod
    async def read_on(self) -> None:
        """Read until cancelled, or to the end of the source; call `tell` whenever there is more."""

    async def _read_safely(self) -> None:
        try:
            await self.read_on()
        except Exception as error:  # noqa: BLE001 - `check` raises it for the followers
            self._error = error
        self.tell()
