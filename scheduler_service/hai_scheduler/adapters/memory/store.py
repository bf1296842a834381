"""The store in memory: for tests, for the simulator, and as the plainest statement of what a store promises."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from hai_scheduler.adapters.memory.kept_logs import MemoryLogs
from hai_scheduler.adapters.memory.state import State
from hai_scheduler.adapters.memory.tx import MemoryTx


class MemoryStore:
    """Keeps everything in this process; nothing survives it.

    A state is an immutable value: readers keep the one they began with, a writer makes a new one that takes the
    old one's place at its end.
    """

    def __init__(self) -> None:
        self._state = State()
        self._writer = asyncio.Lock()
        #: See `hai_scheduler.ports.logs.KeptLogs`.
        self.logs = MemoryLogs()

    def read(self) -> AbstractAsyncContextManager[MemoryTx]:
        """A consistent view. Writing in it is a RuntimeError."""
        return self._read()

    def write(self) -> AbstractAsyncContextManager[MemoryTx]:
        """Commits at the end, rolls back on any exception. Writers are served in the order they came."""
        return self._write()

    async def close(self) -> None:
        """There is nothing to let go of: the store can be used on, as if opened again."""

    @asynccontextmanager
    async def _read(self) -> AsyncIterator[MemoryTx]:
        tx = MemoryTx(self._state, writing=False)
        try:
            yield tx
        finally:
            tx.end()

    @asynccontextmanager
    async def _write(self) -> AsyncIterator[MemoryTx]:
        async with self._writer:
            tx = MemoryTx(self._state, writing=True)
            try:
                yield tx
                self._state = tx.state
            finally:
                tx.end()
