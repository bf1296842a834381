"""A read of the database that must answer soon, and is shared by all who ask meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")

#: Seconds that a cancelled read has to give its connection back; with a database that hangs it never does.
_ENDS_WITHIN_S: Final = 1.0


async def end_read(reading: asyncio.Task[Any] | None) -> None:
    """Cancel a read, if one goes on, and wait until it has given its connection back, a second at most."""
    if reading is not None:
        reading.cancel()
        await asyncio.wait({reading}, timeout=_ENDS_WITHIN_S)


class PatientRead(Generic[T]):
    """Waits for a read, but not longer than is said.

    A read from a database that hangs cannot always be cancelled, as the driver waits for it. So the read goes on until
    it ends, and all callers in that time share it.
    """

    def __init__(self, read: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._read = read
        self._reading: asyncio.Task[T] | None = None

    async def result(self, patience: float) -> T:
        """Return what was read. Raises the error of the read, and TimeoutError after `patience` seconds."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read())
            self._reading.add_done_callback(lambda reading: reading.cancelled() or reading.exception())
        reading = self._reading
        done, _ = await asyncio.wait({reading}, timeout=patience)
        if not done:
            raise TimeoutError
        return reading.result()

    async def end(self) -> None:
        """End the read, if one goes on, before the database is closed."""
        await end_read(self._reading)
