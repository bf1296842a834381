"""Requests that the proxy forwards, against real servers on loopback."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from hai_spawner.proxy.embedded import EmbeddedProxy
from kit.ports import free_port
from unit.spawner.proxy.proxy_kit import World

MEGABYTE = 1024 * 1024


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


@pytest.mark.parametrize("header", ["X-Forwarded-For", "X-Forwarded-Proto"])
@pytest.mark.parametrize(
    ("believed", "sent", "told"),
    [
        ((), ("one",), "one,{own}"),
        (("127.0.0.1",), ("one",), "one"),
        (("127.0.0.1",), ("forged, one",), "forged, one"),
        (("127.0.0.1",), ("forged", "one"), "forged,one"),
        (("127.0.0.1",), (), "{own}"),
        (("127.0.0.2", "one"), ("one",), "one,{own}"),
    ],
)
async def test_only_a_proxy_that_is_believed_has_the_last_word(
    world: World, header: str, believed: tuple[str, ...], sent: tuple[str, ...], told: str
) -> None:
    async def echo(request: web.Request) -> web.Response:
        return web.Response(text=" and ".join(request.headers.getall(header)))

    await world.server(echo=echo)
    assert world.proxy._forwarder is not None
    world.proxy._forwarder._believed = frozenset(believed)
    async with world.client.get(f"{world.url}/echo", headers=[(header, value) for value in sent]) as answer:
        own = {"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Proto": "http"}[header]
        assert await answer.text() == told.format(own=own)


async def test_who_is_believed_is_the_hubs_setting(world: World) -> None:
    app = SimpleNamespace(trusted_downstream_ips=["192.0.2.1"])
    proxy = EmbeddedProxy(public_url=f"http://127.0.0.1:{free_port()}", hub=None, host_routing=False, app=app)
    await proxy.start()
    assert proxy._forwarder is not None
    assert proxy._forwarder._believed == {"192.0.2.1"}
    await proxy.stop()


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
