"""Forward a websocket through the proxy, with every message, ping and close code."""

from __future__ import annotations

import asyncio
from typing import Final

import aiohttp
from aiohttp import WSMsgType, web
from yarl import URL

from hai_spawner.proxy.headers import OF_THE_HANDSHAKE, forwarded, subprotocols

Socket = aiohttp.ClientWebSocketResponse | web.WebSocketResponse

_ENDINGS: Final = (WSMsgType.CLOSE, WSMsgType.CLOSING, WSMsgType.CLOSED, WSMsgType.ERROR)
_NORMAL: Final = 1000
_GOING_AWAY: Final = 1001
#: Codes that say how a connection ended and must not be sent (RFC 6455, 7.4.1).
_NEVER_SENT: Final = {1005: _NORMAL, 1006: _GOING_AWAY, 1015: _GOING_AWAY}


async def connect(session: aiohttp.ClientSession, request: web.Request, url: URL) -> aiohttp.ClientWebSocketResponse:
    """Open the websocket to the server behind, with the client's headers and subprotocols.

    Raises:
        aiohttp.WSServerHandshakeError: The server refused, with its status.
        aiohttp.ClientConnectionError: The server is not reachable.
    """
    return await session.ws_connect(
        url,
        headers=forwarded(request, without=OF_THE_HANDSHAKE),
        protocols=subprotocols(request),
        max_msg_size=0,
        autoping=False,
        autoclose=False,
    )


async def bridge(request: web.Request, upstream: aiohttp.ClientWebSocketResponse) -> web.WebSocketResponse:
    """Accept the client with the subprotocol that the server chose, and forward messages until one side ends."""
    chosen = (upstream.protocol,) if upstream.protocol else ()
    client = web.WebSocketResponse(
        protocols=chosen, max_msg_size=0, compress=False, autoping=False, autoclose=False, timeout=2
    )
    pumps: list[asyncio.Task[None]] = []
    try:
        await client.prepare(request)
        pumps = [asyncio.create_task(_pump(client, upstream)), asyncio.create_task(_pump(upstream, client))]
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for pump in pumps:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)
        await upstream.close()
        if client.prepared:
            await client.close()
    return client


async def _pump(source: Socket, sink: Socket) -> None:
    """Forward messages in one direction; at the end close the other side with the same code and reason."""
    while True:
        message = await source.receive()
        if message.type in _ENDINGS:
            asked = message.type is WSMsgType.CLOSE
            code = int((message.data if asked else source.close_code) or _NORMAL)
            reason = str(message.extra or "") if asked else ""
            await sink.close(code=_NEVER_SENT.get(code, code), message=reason.encode())
            return
        try:
            await _send(sink, message)
        except ConnectionError:
            return


async def _send(sink: Socket, message: aiohttp.WSMessage) -> None:
    if message.type is WSMsgType.TEXT:
        await sink.send_str(message.data)
    elif message.type is WSMsgType.BINARY:
        await sink.send_bytes(message.data)
    elif message.type is WSMsgType.PING:
        await sink.ping(message.data)
    elif message.type is WSMsgType.PONG:
        await sink.pong(message.data)
