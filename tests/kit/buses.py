"""Buses between processes, each of which stands for a process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from hai_scheduler.adapters.system.local_bus import MemoryBus
from hai_scheduler.adapters.system.redis_bus import SILENCE, RedisBus, open_bus
from hai_scheduler.adapters.system.socket_bus import SocketBus
from hai_scheduler.adapters.system.socket_bus import open_bus as open_socket_bus
from kit.redis_server import RedisServer

#: Seconds; longer than any ring takes on the slowest machine.
SOON = 60.0


@asynccontextmanager
async def opened(server: RedisServer, silence: float = SILENCE) -> AsyncIterator[RedisBus]:
    """The bus of one process, connected."""
    bus = await open_bus(server.url, MemoryBus(), silence=silence)
    try:
        assert await bus.wait_until_listening(SOON)
        yield bus
    finally:
        await bus.close()


@asynccontextmanager
async def opened_sockets(folder: Path) -> AsyncIterator[SocketBus]:
    """The bus of one process of a machine."""
    bus = await open_socket_bus(folder, MemoryBus())
    try:
        yield bus
    finally:
        await bus.close()
