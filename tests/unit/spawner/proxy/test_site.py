"""How much of a header the proxy takes; what it logs of wrong requests and of its own faults."""

from __future__ import annotations

import asyncio
import io
import logging
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from hai_spawner.proxy.embedded import EmbeddedProxy
from hai_spawner.proxy.site import HEAD_BYTES
from unit.spawner.proxy.proxy_kit import World


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


async def opened(proxy: EmbeddedProxy) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", int(proxy.public_url.rpartition(":")[2]))


async def test_a_header_without_an_end_is_cut_off(proxy: EmbeddedProxy) -> None:
    reader, writer = await opened(proxy)
    sent = 0

    async def send() -> None:
        nonlocal sent
        writer.write(b"GET /x HTTP/1.1\r\nHost: a\r\n")
        for number in range(127):
            writer.write(b"X-%d: %s\r\n" % (number, b"a" * 60_000))
            await writer.drain()
            sent += 60_000
        await reader.readexactly(1)

    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await send()
    assert sent < 4 * HEAD_BYTES
    writer.transport.abort()


async def test_long_headers_bodies_and_requests_in_a_row_are_not_cut_off(world: World) -> None:
    async def count(request: web.Request) -> web.Response:
        size = 0
        async for piece in request.content.iter_any():
            size += len(piece)
        return web.Response(text=str(size))

    async def deaf(_: web.Request) -> web.Response:
        return web.Response(text="no")

    await world.server(count=count, deaf=deaf)
    body = bytes(3 * HEAD_BYTES)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1)) as one:
        for _ in range(3):
            async with one.post(f"{world.url}/count", data=io.BytesIO(body), headers={"X": "a" * 6000}) as answer:
                assert await answer.text() == str(len(body))
            async with one.get(f"{world.url}/count") as answer:
                assert await answer.text() == "0"
            async with one.post(f"{world.url}/deaf", data=io.BytesIO(body)) as answer:
                assert await answer.text() == "no", "it answers before the body has come"
            async with one.post(f"{world.url}/nowhere/", data=io.BytesIO(body)) as answer:
                assert answer.status == 404
