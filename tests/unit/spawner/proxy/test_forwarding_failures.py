"""What the proxy answers while something behind it starts, is down or breaks off."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest
from aiohttp import web

from hai_spawner.proxy.embedded import EmbeddedProxy
from kit.ports import free_port

JSON = {"Accept": "application/json"}


async def said(answer: aiohttp.ClientResponse) -> tuple[int, str | None, Any]:
    return answer.status, answer.headers.get("Retry-After"), (await answer.json(content_type=None))["code"]


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
async def test_before_the_hub_has_told_its_routes_nothing_is_known_to_be_absent(
    proxy: EmbeddedProxy, http: aiohttp.ClientSession, method: str
) -> None:
    url = f"{proxy.public_url}/services/hai/api/v1/tasks"
    async with http.request(method, url, headers=JSON) as answer:
        assert answer.content_type == "application/problem+json"
        assert await said(answer) == (503, "2", "restarting")


async def test_a_browser_is_shown_a_page_that_looks_again(proxy: EmbeddedProxy, http: aiohttp.ClientSession) -> None:
    async with http.get(f"{proxy.public_url}/hub/home", headers={"Accept": "text/html,*/*"}) as answer:
        assert (answer.status, answer.content_type, answer.headers["Retry-After"]) == (503, "text/html", "2")
        assert 'http-equiv="refresh" content="2"' in await answer.text()


async def test_what_the_hub_has_not_named_is_absent_once_it_has_told_its_routes(http: aiohttp.ClientSession) -> None:
    proxy = EmbeddedProxy(public_url=f"http://127.0.0.1:{free_port()}", hub=None, host_routing=True)
    await proxy.start()
    try:
        await proxy.add_route("hub.example/", "http://127.0.0.1:9", {"hub": True})
        async with http.get(f"{proxy.public_url}/x", headers=JSON | {"Host": "other.example"}) as answer:
            assert await said(answer) == (404, None, "not_found")
    finally:
        await proxy.stop()


async def test_a_server_that_is_down_has_not_seen_the_request(
    proxy: EmbeddedProxy, http: aiohttp.ClientSession
) -> None:
    await proxy.add_route("/services/hai/", f"http://127.0.0.1:{free_port()}", {})
    async with http.post(f"{proxy.public_url}/services/hai/api/v1/tasks/1/stop", headers=JSON) as answer:
        assert await said(answer) == (503, "2", "restarting")


async def test_a_server_that_breaks_off_may_have_done_it(proxy: EmbeddedProxy, http: aiohttp.ClientSession) -> None:
    async def die(request: web.Request) -> web.StreamResponse:
        await request.read()
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    app = web.Application()
    app.router.add_post("/services/hai/stop", die)
    runner = web.AppRunner(app)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        await proxy.add_route("/services/hai/", f"http://127.0.0.1:{port}", {})
        async with http.post(f"{proxy.public_url}/services/hai/stop", json={}, headers=JSON) as answer:
            assert await said(answer) == (502, "2", "unavailable")
    finally:
        await runner.cleanup()
