"""Carry an upgraded connection, a websocket, between a client and the server behind: bytes as they come, none kept.

Client and server speak to each other: frames, their compression and their close codes are theirs. The proxy knows no
message, so none can be too long for it, and it reads from a side only as fast as the other side takes.
"""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

import aiohttp
from aiohttp import web
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http import StreamWriter

from hai_spawner.proxy.headers import UPGRADED, end_to_end
from hai_spawner.proxy.slowness import TooSlow, give

#: Bytes from one side that wait for the other; at twice as many the proxy stops reading.
BUFFER_BYTES: Final = 64 * 1024


class _Connection(Protocol):
    """What aiohttp's protocols of both sides have."""

    def pause_reading(self) -> None: ...
    def resume_reading(self, resume_parser: bool = True) -> None: ...


class _Bytes:
    """What takes the place of aiohttp's parser of websockets: the bytes of one side, as they come."""

    def __init__(self, connection: _Connection) -> None:
        loop = asyncio.get_running_loop()
        self.stream = aiohttp.StreamReader(connection, BUFFER_BYTES, loop=loop)  # type: ignore[arg-type]

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        """Take bytes. Returns (False, b""), which tells aiohttp that there was no error and that nothing is left."""
        self.stream.feed_data(data)
        return False, b""

    def feed_eof(self) -> None:
        """Note that the side has closed the connection."""
        self.stream.feed_eof()


async def bridge(request: web.Request, upstream: aiohttp.ClientResponse) -> web.StreamResponse:
    """Send the client the server's answer 101, and carry what both send until one of them closes.

    Args:
        request: The client's request to upgrade.
        upstream: The server's answer 101. Its connection is closed at the end.
    """
    behind = upstream.connection
    assert behind is not None
    # The connection forgets it when the server closes it.
    transport = behind.transport
    assert behind.protocol is not None
    assert transport is not None
    from_server = _Bytes(behind.protocol)
    behind.protocol.set_parser(from_server, from_server.stream)
    from_client = _Bytes(request.protocol)
    request.protocol.set_parser(from_client)  # type: ignore[arg-type]
    answer = web.StreamResponse(status=101, headers={**end_to_end(upstream.headers), **UPGRADED})
    answer.force_close()
    pumps: list[asyncio.Task[None]] = []
    try:
        await answer.prepare(request)
        pumps = [
            asyncio.create_task(_to_client(from_server.stream, answer)),
            asyncio.create_task(_to_server(from_client.stream, behind.protocol)),
        ]
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for pump in pumps:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)
        if not transport.is_closing():
            # A client may close at once after its last frame, which says why.
            transport.write(from_client.stream.read_nowait())
        behind.close()
    return answer


async def _to_client(source: aiohttp.StreamReader, answer: web.StreamResponse) -> None:
    while piece := await source.readany():
        try:
            await give(answer, piece)
        except (ConnectionError, TooSlow):
            return


async def _to_server(source: aiohttp.StreamReader, protocol: BaseProtocol) -> None:
    writer = StreamWriter(protocol, asyncio.get_running_loop())
    while piece := await source.readany():
        try:
            await writer.write(piece)
        except ConnectionError:
            return
