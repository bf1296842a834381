"""The store in memory: for tests, and as the simplest implementation of the port."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from kit.memory.log_store import MemoryLogs
from kit.memory.series_store import MemorySeries
from kit.memory.state import State
from kit.memory.transaction import MemoryTx


class MemoryStore:
    """A store in the memory of this process; its contents end with the process.

    A state is an immutable value: readers keep the state they began with, a writer makes a new state that replaces the
    old one at its end.
    """

    def __init__(self) -> None:
        self._state = State()
        self._writer = asyncio.Lock()
        #: See `hai_scheduler.ports.logs.LogStore`.
        self.logs = MemoryLogs()
        #: See `hai_scheduler.ports.series.SeriesStore`.
        self.series = MemorySeries()

    def read(self) -> AbstractAsyncContextManager[MemoryTx]:
        """Open a consistent view. Writing in it is a RuntimeError."""
        return self._read()

    def disk_full(self) -> bool:
        """Memory has room."""
        return False

    def write(self) -> AbstractAsyncContextManager[MemoryTx]:
        """Open a transaction: it commits at the end, and rolls back on any exception. Writers take turns in order."""
        return self._write()

    async def close(self) -> None:
        """Do nothing: the store can still be used, as if it were opened again."""

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
