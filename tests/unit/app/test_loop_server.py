"""The port at which the scheduling loop tells its health: connections that are kept open do not slow down ticks."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from hai_client import waiting
from hai_scheduler.app.loop_server import listen


@pytest.mark.parametrize("sent", [b"", b"GET /health HTTP/1.1\r\nHost: x\r\n"])
async def test_who_sends_no_request_is_let_go(monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    monkeypatch.setitem(waiting._LIFE_S, waiting.NEW, 0.1)
    nobody: Any = SimpleNamespace()
    server = listen(nobody, nobody, address="127.0.0.1", port=0)
    port = next(iter(server._sockets.values())).getsockname()[1]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    async with asyncio.timeout(10):
        assert await reader.read() == b""
    writer.close()
    server.stop()
    await server.close_all_connections()
