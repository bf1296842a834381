"""What the proxy says while something behind it starts, and what it logs of wrong requests."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from hai_spawner.proxy.embedded import EmbeddedProxy
from kit.ports import free_port

JSON = {"Accept": "application/json"}


@pytest.fixture
async def proxy() -> AsyncIterator[EmbeddedProxy]:
    """One that has just been started: the Hub has told it nothing yet."""
    gone = f"http://127.0.0.1:{free_port()}/hub/"
    made = EmbeddedProxy(
        public_url=f"http://127.0.0.1:{free_port()}", hub=SimpleNamespace(url=gone), host_routing=False
    )
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as made:
        yield made


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
