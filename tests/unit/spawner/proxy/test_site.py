"""What the proxy logs of wrong requests and of its own faults."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import aiohttp
import pytest

from hai_spawner.proxy.embedded import EmbeddedProxy


async def test_malformed_requests_are_one_line_without_what_they_said(
    proxy: EmbeddedProxy, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for _ in range(20):
        reader, writer = await asyncio.open_connection("127.0.0.1", int(proxy.public_url.rpartition(":")[2]))
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: secret-token\r\nContent-Length: -3\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.0 400")
        writer.close()
        await writer.wait_closed()
    about = [record for record in caplog.records if "request" in record.getMessage()]
    assert len(about) == 1
    assert about[0].exc_info is None
    assert "secret" not in caplog.text


async def test_a_fault_of_the_proxy_itself_keeps_its_traceback(
    proxy: EmbeddedProxy, http: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(proxy.table, "find", broken)
    async with http.get(proxy.public_url + "/x") as answer:
        assert answer.status == 500
    assert [record.exc_info is not None for record in caplog.records if "Error handling" in record.message] == [True]
