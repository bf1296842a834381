"""Something that grows and is read once for all who follow it."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class SharedReading(ABC):
    """A reader that is at work while anybody follows what it reads.

    Whoever follows looks at what was read, and then waits until more was. When reading fails, all who follow get the
    error, and this reading is over.
    """

    def __init__(self) -> None:
        self._followers = 0
        self._reading: asyncio.Task[None] | None = None
        self._moved = asyncio.Event()
        self._error: Exception | None = None

    @property
    def failed(self) -> bool:
        """Whether nothing will be read any more, because it could not be."""
        return self._error is not None

    @property
    def followed(self) -> bool:
        """Whether anybody follows."""
        return self._followers > 0

    @asynccontextmanager
    async def followed_by_me(self) -> AsyncIterator[None]:
        """Follow; the last one to leave ends the reader."""
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
        """Wait until more was read, at most so long; whether it was. Raises what reading has raised."""
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
        """Raise what reading has raised."""
        if self._error is not None:
            raise self._error

    def tell(self) -> None:
        """Wake everybody who waits for more."""
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    @abstractmethod
    async def read_on(self) -> None:
        """Read for ever, or to the end; `tell` whenever there is more."""

    async def _read_safely(self) -> None:
        try:
            await self.read_on()
        except Exception as error:  # noqa: BLE001 - it is raised where somebody can answer it
            self._error = error
        self.tell()
