"""The proxy inside the Hub's process: what it listens on, the Hub's routes, its end."""

from __future__ import annotations

import asyncio
import socket

import aiohttp
import pytest
from aiohttp import web
from yarl import URL

from hai_spawner.proxy.embedded import EmbeddedProxy
from kit.ports import free_port
from unit.spawner.proxy.proxy_kit import World


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
