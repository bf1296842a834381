"""Proxies on loopback, and a client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import SimpleNamespace

import aiohttp
import pytest

from hai_spawner.proxy.embedded import EmbeddedProxy
from kit.ports import free_port
from unit.spawner.proxy.proxy_kit import World


@pytest.fixture
async def world() -> AsyncIterator[World]:
    made = World()
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
async def proxy() -> AsyncIterator[EmbeddedProxy]:
    """One that has just been started: the Hub has told it nothing yet."""
    gone = f"http://127.0.0.1:{free_port()}/hub/"
    made = EmbeddedProxy(
        public_url=f"http://127.0.0.1:{free_port()}", hub=SimpleNamespace(url=gone), host_routing=False
    )
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as made:
        yield made
