"""Bodies that come too slowly, and answers that are not read, through a real proxy on loopback."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from hai_spawner.proxy import slowness
from unit.spawner.proxy.proxy_kit import World


async def test_a_body_that_does_not_come_is_answered_408_and_the_connection_closed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(slowness.Body.__init__.__kwdefaults__, "patience_s", 0.05)
    arrived = bytearray()

    async def take(request: web.Request) -> web.Response:
        async for piece in request.content.iter_any():
            arrived.extend(piece)
        return web.Response()

    await world.server(take=take)
    reader, writer = await asyncio.open_connection("127.0.0.1", int(world.url.rpartition(":")[2]))
    writer.write(b"POST /take HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nbegin")
    answer = (await reader.read()).decode()
    writer.close()
    await writer.wait_closed()
    assert answer.startswith("HTTP/1.1 408")
    assert '"code": "too_slow"' in answer
    assert bytes(arrived) in (b"", b"begin")


async def test_bytes_earn_time() -> None:
    content = asyncio.StreamReader()

    class Content:
        async def readany(self) -> bytes:
            return await content.read(1)

    body = slowness.Body(Content(), patience_s=0.02, bytes_a_second=0.01)  # type: ignore[arg-type]
    content.feed_data(b"a")
    pieces = aiter(body)
    assert await anext(pieces) == b"a"
    # 100 more seconds: what does not come within the 0.02 is waited for.
    asyncio.get_running_loop().call_later(0.1, content.feed_data, b"b")
    assert await anext(pieces) == b"b"
    content.feed_eof()
    with pytest.raises(StopAsyncIteration):
        await anext(pieces)
    assert not body.was_too_slow


async def test_an_answer_that_is_not_read_is_given_up() -> None:
    class Stalled:
        async def write(self, _piece: bytes) -> None:
            await asyncio.Event().wait()

    with pytest.raises(slowness.TooSlow):
        await slowness.give(Stalled(), b"x", patience_s=0.01)  # type: ignore[arg-type]
