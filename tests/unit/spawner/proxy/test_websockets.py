"""Websockets through the proxy, against real servers on loopback."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest
from aiohttp import web

from unit.spawner.proxy.proxy_kit import World

MEGABYTE = 1024 * 1024


async def test_a_websocket_passes_messages_pings_subprotocol_and_close_code(world: World) -> None:
    closed: asyncio.Future[tuple[int | None, str]] = asyncio.get_running_loop().create_future()

    async def talk(request: web.Request) -> web.WebSocketResponse:
        sock = web.WebSocketResponse(protocols=("v1.kernel.websocket.jupyter.org",), max_msg_size=0)
        await sock.prepare(request)
        await sock.send_str(request.headers["Cookie"])
        async for message in sock:
            if message.type is aiohttp.WSMsgType.TEXT:
                await sock.send_str(message.data.upper())
            else:
                await sock.send_bytes(message.data)
        closed.set_result((sock.close_code, "end"))
        return sock

    await world.server(talk=talk)
    offered = ("other", "v1.kernel.websocket.jupyter.org")
    sock = await world.client.ws_connect(
        world.url + "/talk", protocols=offered, max_msg_size=0, headers={"Cookie": "c=1"}, autoping=False
    )
    assert sock.protocol == "v1.kernel.websocket.jupyter.org"
    assert await sock.receive_str() == "c=1"
    await sock.send_str("hello")
    assert await sock.receive_str() == "HELLO"
    big = b"x" * (8 * MEGABYTE)
    await sock.send_bytes(big)
    assert await sock.receive_bytes() == big
    await sock.ping(b"are you there")
    pong = await sock.receive()
    assert (pong.type, bytes(pong.data)) == (aiohttp.WSMsgType.PONG, b"are you there")
    await sock.close(code=4001)
    assert await asyncio.wait_for(closed, 5) == (4001, "end")


async def test_a_close_by_the_server_reaches_the_client_with_its_code(world: World) -> None:
    async def bye(request: web.Request) -> web.WebSocketResponse:
        sock = web.WebSocketResponse()
        await sock.prepare(request)
        await sock.close(code=4002, message=b"enough")
        return sock

    await world.server(bye=bye)
    sock = await world.client.ws_connect(world.url + "/bye")
    message = await sock.receive()
    assert (message.type, message.data, message.extra) == (aiohttp.WSMsgType.CLOSE, 4002, "enough")


async def test_a_refused_websocket_is_refused_with_the_servers_status(world: World) -> None:
    async def no(request: web.Request) -> web.Response:
        return web.Response(status=403)

    await world.server(no=no)
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await world.client.ws_connect(world.url + "/no")
    assert refused.value.status == 403
