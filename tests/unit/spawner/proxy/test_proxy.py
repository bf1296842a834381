"""The proxy against real servers on loopback."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from yarl import URL

from hai_spawner.proxy.embedded import EmbeddedProxy
from kit.ports import free_port

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
MEGABYTE = 1024 * 1024


async def serve(**handlers: Handler) -> tuple[web.AppRunner, str]:
    app = web.Application(client_max_size=0)
    for name, handler in handlers.items():
        app.router.add_route("*", f"/{name}", handler)
        app.router.add_route("*", f"/{name}/{{rest:[\\s\\S]*}}", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1, auto_decompress=False, handler_cancellation=True)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    return runner, f"http://127.0.0.1:{port}"


class World:
    """A proxy whose root is a Hub that makes error pages, a client, and servers by name."""

    def __init__(self) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        self.proxy: EmbeddedProxy
        self.client: aiohttp.ClientSession
        self._runners: list[web.AppRunner] = []

    async def start(self) -> None:
        async def page(request: web.Request) -> web.Response:
            where = request.query.get("url")
            return web.Response(text=f"<h1>page for {request.match_info.get('rest')} {where}</h1>")

        runner, hub = await serve(hub=page)
        self._runners.append(runner)
        self.proxy = EmbeddedProxy(public_url=self.url, hub=SimpleNamespace(url=hub + "/hub/"), host_routing=False)
        await self.proxy.start()
        await self.proxy.add_route("/", hub, {"hub": True})
        self.client = aiohttp.ClientSession(auto_decompress=False)

    async def server(self, **handlers: Handler) -> str:
        runner, url = await serve(**handlers)
        self._runners.append(runner)
        for name in handlers:
            await self.proxy.add_route(f"/{name}/", url, {})
        return url

    async def stop(self) -> None:
        await self.client.close()
        await self.proxy.stop()
        for runner in self._runners:
            await runner.cleanup()


@pytest.fixture
async def world() -> AsyncIterator[World]:
    made = World()
    await made.start()
    yield made
    await made.stop()


async def test_method_path_query_headers_and_body_arrive_as_sent(world: World) -> None:
    async def echo(request: web.Request) -> web.Response:
        return web.json_response(
            {
                "method": request.method,
                "target": request.raw_path,
                "host": request.headers["Host"],
                "for": request.headers["X-Forwarded-For"],
                "proto": request.headers["X-Forwarded-Proto"],
                "own": request.headers.getall("X-Own"),
                "hop": request.headers.get("X-Hop"),
                "real": request.headers.get("X-Real-IP"),
                "added": [name for name in ("Accept-Encoding", "User-Agent") if name in request.headers],
                "body": await request.text(),
            },
            headers={"Set-Cookie": "a=1", "X-Reply": "yes"},
        )

    await world.server(echo=echo)
    reader, writer = await asyncio.open_connection("127.0.0.1", int(world.url.rpartition(":")[2]))
    writer.write(
        b"PATCH /echo/a%20b/%2F?q=1&q=%26 HTTP/1.1\r\nHost: hub.example:80\r\nX-Own: 1\r\nX-Own: 2\r\nX-Hop: no\r\n"
        b"X-Forwarded-For: 10.0.0.1\r\nX-Real-IP: 10.0.0.2\r\nConnection: close, X-Hop\r\nContent-Length: 4\r\n\r\nbody"
    )
    answer = (await reader.read()).decode()
    writer.close()
    await writer.wait_closed()
    assert answer.startswith("HTTP/1.1 200")
    assert "X-Reply: yes" in answer
    assert "Set-Cookie: a=1" in answer
    for part in (
        '"method": "PATCH"',
        '"target": "/echo/a%20b/%2F?q=1&q=%26"',
        '"host": "hub.example:80"',
        '"for": "10.0.0.1,127.0.0.1"',
        '"proto": "http"',
        '"own": ["1", "2"]',
        '"hop": null',
        '"real": null',
        '"added": []',
        '"body": "body"',
    ):
        assert part in answer


async def test_the_first_event_arrives_before_the_second_is_sent(world: World) -> None:
    seen = asyncio.Event()

    async def events(request: web.Request) -> web.StreamResponse:
        stream = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await stream.prepare(request)
        await stream.write(b"data: 1\n\n")
        await asyncio.wait_for(seen.wait(), 5)
        await stream.write(b"data: 2\n\n")
        return stream

    await world.server(events=events)
    async with world.client.get(world.url + "/events") as answer:
        assert answer.content_type == "text/event-stream"
        assert await answer.content.readuntil(b"\n\n") == b"data: 1\n\n"
        seen.set()
        assert await answer.content.read() == b"data: 2\n\n"


async def test_a_client_that_leaves_ends_the_request_at_the_server(world: World) -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def endless(request: web.Request) -> web.StreamResponse:
        stream = web.StreamResponse()
        await stream.prepare(request)
        await stream.write(b"first")
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return stream

    await world.server(endless=endless)
    answer = await world.client.get(world.url + "/endless")
    await asyncio.wait_for(began.wait(), 5)
    answer.close()
    await asyncio.wait_for(ended.wait(), 5)


async def test_an_upload_of_120_megabytes_is_streamed(world: World) -> None:
    first_arrived = asyncio.Event()

    async def upload(request: web.Request) -> web.Response:
        digest, size = hashlib.sha256(), 0
        async for chunk in request.content.iter_any():
            first_arrived.set()
            digest.update(chunk)
            size += len(chunk)
        return web.json_response({"size": size, "sha": digest.hexdigest()})

    await world.server(upload=upload)
    block = bytes(range(256)) * 4096

    async def body() -> AsyncIterator[bytes]:
        yield block
        await asyncio.wait_for(first_arrived.wait(), 5)
        for _ in range(119):
            yield block

    async with world.client.put(world.url + "/upload", data=body()) as answer:
        got: dict[str, Any] = await answer.json()
    assert got == {"size": 120 * MEGABYTE, "sha": hashlib.sha256(block * 120).hexdigest()}


async def test_a_compressed_answer_stays_compressed_and_redirects_are_the_clients(world: World) -> None:
    packed = gzip.compress(b"text" * 100)

    async def zipped(request: web.Request) -> web.Response:
        return web.Response(body=packed, headers={"Content-Encoding": "gzip"})

    async def moved(request: web.Request) -> web.Response:
        raise web.HTTPFound("/elsewhere")

    await world.server(zipped=zipped, moved=moved)
    async with world.client.get(world.url + "/zipped") as answer:
        assert (await answer.read(), answer.headers["Content-Encoding"]) == (packed, "gzip")
    async with world.client.get(world.url + "/moved", allow_redirects=False) as answer:
        assert (answer.status, answer.headers["Location"]) == (302, "/elsewhere")
    async with world.client.head(world.url + "/zipped") as answer:
        assert (answer.status, answer.headers["Content-Length"]) == (200, str(len(packed)))


async def test_an_answer_that_breaks_off_does_not_look_complete(world: World) -> None:
    async def broken(request: web.Request) -> web.StreamResponse:
        stream = web.StreamResponse()
        await stream.prepare(request)
        await stream.write(b"half")
        assert request.transport is not None
        request.transport.abort()
        return stream

    await world.server(broken=broken)
    with pytest.raises(aiohttp.ClientError):
        async with world.client.get(world.url + "/broken") as answer:
            await answer.read()


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


async def test_a_server_that_is_down_is_503_with_the_hubs_page_for_a_browser(world: World) -> None:
    await world.proxy.add_route("/gone/", f"http://127.0.0.1:{free_port()}", {})
    async with world.client.get(world.url + "/gone/x", headers={"Accept": "text/html,*/*"}) as answer:
        assert (answer.status, answer.content_type) == (503, "text/html")
        assert await answer.text() == "<h1>page for error/503 /gone/x</h1>"


async def test_a_server_that_is_down_is_a_problem_document_for_a_program(world: World) -> None:
    await world.proxy.add_route("/gone/", f"http://127.0.0.1:{free_port()}", {})
    async with world.client.get(world.url + "/gone/x", headers={"Accept": "application/json"}) as answer:
        assert (answer.status, answer.content_type) == (503, "application/problem+json")
        assert (await answer.json(content_type=None))["code"] == "restarting"
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await world.client.ws_connect(world.url + "/gone/x")
    assert refused.value.status == 503


@pytest.mark.parametrize("target", ["@elsewhere.example/", "elsewhere.example:80", "*"])
async def test_a_request_target_that_is_no_path_goes_nowhere(world: World, target: str) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(world.url.rpartition(":")[2]))
    writer.write(f"OPTIONS {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    assert answer.split(b" ")[1] in (b"400", b"404")


async def test_an_absolute_target_is_taken_for_its_path(world: World) -> None:
    async def here(request: web.Request) -> web.Response:
        return web.Response(text="here")

    await world.server(here=here)
    reader, writer = await asyncio.open_connection("127.0.0.1", int(world.url.rpartition(":")[2]))
    writer.write(b"GET http://elsewhere.example/here HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    assert answer.endswith(b"here")


async def test_routes_are_told_to_the_hub_in_its_form(world: World) -> None:
    await world.proxy.add_route("/user/ann", "http://127.0.0.1:1", {"user": "ann"})
    routes = await world.proxy.get_all_routes()
    assert routes["/user/ann/"] == {
        "routespec": "/user/ann/",
        "target": "http://127.0.0.1:1",
        "data": {"user": "ann"},
    }
    await world.proxy.delete_route("/user/ann/")
    assert "/user/ann/" not in await world.proxy.get_all_routes()


async def test_it_listens_on_the_configured_address_alone(world: World) -> None:
    assert world.proxy._runner is not None
    assert [address[0] for address in world.proxy._runner.addresses] == ["127.0.0.1"]


async def test_stopping_ends_open_streams_and_frees_the_port(world: World) -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        stream = web.StreamResponse()
        await stream.prepare(request)
        await stream.write(b"first")
        await asyncio.Event().wait()
        return stream

    async def silent(request: web.Request) -> web.WebSocketResponse:
        sock = web.WebSocketResponse()
        await sock.prepare(request)
        await sock.receive()
        return sock

    await world.server(endless=endless, silent=silent)
    answer = await world.client.get(world.url + "/endless")
    assert await answer.content.readany() == b"first"
    sock = await world.client.ws_connect(world.url + "/silent")
    world.proxy.shutdown_timeout = 0.1
    async with asyncio.timeout(5):
        await world.proxy.stop()
    assert (await sock.receive()).type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED)
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", int(world.url.rpartition(":")[2])))


async def test_a_port_in_use_is_an_error_and_leaves_nothing_open(world: World) -> None:
    second = EmbeddedProxy(public_url=world.url, hub=None, host_routing=False)
    with pytest.raises(OSError, match="address already in use"):
        await second.start()


async def test_a_path_with_a_line_break_reaches_its_server(world: World) -> None:
    async def echo(request: web.Request) -> web.Response:
        return web.Response(text=request.raw_path)

    await world.server(one=echo)
    async with world.client.get(URL(f"{world.url}/one/a%0Ab%0D", encoded=True)) as answer:
        assert (answer.status, await answer.text()) == (200, "/one/a%0Ab%0D")


async def test_no_answer_tells_which_versions_run(world: World) -> None:
    async def named(_: web.Request) -> web.Response:
        return web.Response(text="x", headers={"Server": "TornadoServer/6.5"})

    await world.server(one=named)
    for path in ("/one/", "/hub/x", "/one/a%0Ab"):
        async with world.client.get(URL(world.url + path, encoded=True)) as answer:
            assert "Server" not in answer.headers
    await world.proxy.add_route("/gone/", f"http://127.0.0.1:{free_port()}", {})
    async with world.client.get(f"{world.url}/gone/") as answer:
        assert (answer.status, "Server" in answer.headers) == (503, False)
