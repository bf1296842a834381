"""A read of the database for all who ask at about the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class JointRead(Generic[T]):
    """Reads once for all who ask while another read goes on. Nobody gets what was read before they asked.

    Args:
        read: Reads.
    """

    def __init__(self, read: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._read = read
        self._turn = asyncio.Lock()
        #: The read that has not begun yet; None: nobody waits for one.
        self._next: asyncio.Task[T] | None = None

    async def result(self) -> T:
        """Return what was read after the call. Raises the error of the read."""
        if self._next is None:
            self._next = asyncio.create_task(self._in_turn())
            # Where all who asked have gone, nobody is left to hear of an error.
            self._next.add_done_callback(lambda reading: reading.cancelled() or reading.exception())
        # The others still want it when one of them goes.
        return await asyncio.shield(self._next)

    async def _in_turn(self) -> T:
        async with self._turn:
            self._next = None
            return await self._read()
