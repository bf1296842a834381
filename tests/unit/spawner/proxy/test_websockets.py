"""Websockets through the proxy, against real servers on loopback."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress

import aiohttp
import pytest
from aiohttp import web

from kit.waiting import until
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


#: A frame of 64 KiB that begins a message, and one that goes on with it: neither ends it. The mask is zero.
BEGIN = b"\x02\xff" + (64 * 1024).to_bytes(8, "big") + bytes(4) + bytes(64 * 1024)
GO_ON = b"\x00" + BEGIN[1:]
FRAMES = 32 * MEGABYTE // len(GO_ON)
#: What one direction may keep: the stream's 128 KiB, what one read brings, and the buffers of the two sockets.
KEPT = 2 * MEGABYTE


class Raw:
    """A server that accepts each upgrade, and then counts the bytes that it lets in; and a client of it."""

    def __init__(self) -> None:
        self.taken = 0
        self.takes = asyncio.Event()
        self.upgraded: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()
        self._server: asyncio.Server

    async def start(self, world: World) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=4096)
        port = self._server.sockets[0].getsockname()[1]
        await world.proxy.add_route("/raw/", f"http://127.0.0.1:{port}", {})

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        self.upgraded.put_nowait(writer)
        await self.takes.wait()
        while piece := await reader.read(65536):
            self.taken += len(piece)
        await closed(writer)

    async def stop(self) -> None:
        self._server.close()


async def closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


async def upgraded(world: World) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(world.url.rpartition(":")[2]), limit=4096)
    writer.write(b"GET /raw/ HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n")
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101 ")
    return reader, writer


@pytest.fixture
async def raw(world: World) -> AsyncIterator[Raw]:
    made = Raw()
    await made.start(world)
    yield made
    made.takes.set()
    await made.stop()


@pytest.fixture
def memory() -> Iterator[Callable[[], int]]:
    """Return the most bytes that Python's objects have grown by since the test began."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    yield lambda: tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()


async def test_a_message_without_an_end_goes_on_to_the_server_as_it_comes(
    world: World, raw: Raw, memory: Callable[[], int]
) -> None:
    raw.takes.set()
    _, writer = await upgraded(world)
    writer.write(BEGIN)
    for _ in range(FRAMES):
        writer.write(GO_ON)
        await writer.drain()
    await until("the server has every byte of the message", lambda: raw.taken == (FRAMES + 1) * len(GO_ON))
    assert memory() < KEPT
    await closed(writer)


async def test_a_message_without_an_end_goes_on_to_the_client_as_it_comes(
    world: World, raw: Raw, memory: Callable[[], int]
) -> None:
    reader, writer = await upgraded(world)
    server = await raw.upgraded.get()

    async def talk() -> None:
        for _ in range(FRAMES):
            server.write(GO_ON)
            await server.drain()

    talking = asyncio.create_task(talk())
    for _ in range(FRAMES):
        await reader.readexactly(len(GO_ON))
    await talking
    assert memory() < KEPT
    await closed(writer)


@pytest.mark.parametrize("slow", ["server", "client"])
async def test_who_does_not_read_holds_the_other_up_and_fills_nothing(
    world: World, raw: Raw, memory: Callable[[], int], slow: str
) -> None:
    reader, writer = await upgraded(world)
    server = await raw.upgraded.get()
    talker = writer if slow == "server" else server
    said = 0

    async def talk() -> None:
        nonlocal said
        for _ in range(FRAMES):
            talker.write(GO_ON)
            await talker.drain()
            said += 1

    talking = asyncio.create_task(talk())
    ends = [*connections_of_clients(world), *connections_of_servers(world)]
    await until("the proxy reads no more from who talks", lambda: any(not end.is_reading() for end in ends))
    assert (said < FRAMES, memory() < KEPT) == (True, True)
    if slow == "server":
        raw.takes.set()
        await until("the server has every byte after all", lambda: raw.taken == FRAMES * len(GO_ON))
    else:
        for _ in range(FRAMES):
            await reader.readexactly(len(GO_ON))
    await talking
    assert memory() < KEPT
    await closed(writer)


@pytest.mark.parametrize("end", ["close", "abort"])
async def test_a_server_that_ends_the_connection_ends_that_of_the_client(
    end: str, world: World, raw: Raw, caplog: pytest.LogCaptureFixture
) -> None:
    reader, writer = await upgraded(world)
    behind = await raw.upgraded.get()
    behind.write(b"the last")
    await behind.drain()
    assert await reader.readexactly(8) == b"the last"
    getattr(behind.transport, end)()
    assert await reader.read() == b""
    await closed(writer)
    assert [found.getMessage() for found in caplog.records] == []


async def test_what_a_client_sends_before_the_server_has_agreed_fills_nothing(
    world: World, memory: Callable[[], int]
) -> None:
    asked = asyncio.Event()

    async def undecided(request: web.Request) -> web.Response:
        asked.set()
        await asyncio.Event().wait()
        return web.Response()

    await world.server(raw=undecided)
    _, writer = await asyncio.open_connection("127.0.0.1", int(world.url.rpartition(":")[2]))
    writer.write(b"GET /raw/ HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    await asked.wait()
    writer.write(BEGIN * 4)
    await until("the proxy reads no more", lambda: any(not end.is_reading() for end in connections_of_clients(world)))
    assert memory() < KEPT
    writer.transport.abort()
    await closed(writer)


async def test_the_last_frame_of_a_client_that_closes_at_once_reaches_the_server(world: World, raw: Raw) -> None:
    _, writer = await upgraded(world)
    writer.write(BEGIN * 3)
    await closed(writer)
    raw.takes.set()
    await until("the server has the whole of it", lambda: raw.taken == 3 * len(BEGIN))


@pytest.mark.parametrize(
    "head",
    [
        "POST /raw/ HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 0",
        "GET /raw/ HTTP/1.1\r\nUpgrade: websocket",
        "GET /raw/ HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c",
        "GET /raw/ HTTP/1.1\r\nConnection: Upgrade",
        "GET /raw/ HTTP/1.1\r\nConnection: close",
    ],
)
async def test_a_server_that_switches_without_being_asked_is_cut_off(world: World, raw: Raw, head: str) -> None:
    raw.takes.set()
    reader, writer = await asyncio.open_connection("127.0.0.1", int(world.url.rpartition(":")[2]))
    writer.write(f"{head}\r\nHost: a\r\n\r\n".encode())
    assert (await reader.readline()).startswith(b"HTTP/1.1 502 ")
    await closed(writer)


def connections_of_clients(world: World) -> list[asyncio.Transport]:
    assert world.proxy._runner is not None
    assert world.proxy._runner.server is not None
    return [held.transport for held in world.proxy._runner.server.connections if held.transport is not None]


def connections_of_servers(world: World) -> list[asyncio.Transport]:
    assert world.proxy._forwarder is not None
    held = world.proxy._forwarder.session.connector._acquired  # type: ignore[union-attr]
    return [one.transport for one in held if one.transport is not None]
