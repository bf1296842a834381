from __future__ import annotations

import asyncio
import http.client
import json
import logging
import socket
from collections.abc import AsyncIterator
from types import SimpleNamespace

import pytest
import tornado.tcpserver
from jupyterhub import handlers
from jupyterhub.httpclient import JupyterHubHTTPClient
from jupyterhub.objects import Server
from tornado.httpclient import AsyncHTTPClient, HTTPRequest, HTTPResponse
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application

from hai_client.accepting import RETRY_AFTER_S
from hai_hub.config import hub_process


@pytest.fixture(params=["/", "/lab/"])
async def hub(request: pytest.FixtureRequest) -> AsyncIterator[str]:
    """A Hub's last handlers, as far as they matter here; the address below its base."""
    base: str = request.param
    app = Application(
        [(r"(?!/hub/).*", hub_process.AbsentService)],
        base_url=base,
        xsrf_cookies=True,
        cookie_secret=b"x" * 32,
        hub=SimpleNamespace(base_url=base + "hub/"),
        db=SimpleNamespace(dirty=False),
        log=logging.getLogger("test"),
    )
    server = HTTPServer(app)
    sockets = bind_sockets(0, "127.0.0.1")
    server.add_sockets(sockets)
    yield f"http://127.0.0.1:{sockets[0].getsockname()[1]}{base}"
    server.stop()
    await server.close_all_connections()


async def ask(url: str, method: str) -> HTTPResponse:
    request = HTTPRequest(url, method=method, allow_nonstandard_methods=True, follow_redirects=False)
    return await AsyncHTTPClient().fetch(request, raise_error=False)


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
async def test_the_service_is_not_absent_but_starting_while_it_has_no_route(hub: str, method: str) -> None:
    answer = await ask(f"{hub}services/hai/api/v1/tasks", method)
    assert (answer.code, answer.headers["Retry-After"]) == (503, str(RETRY_AFTER_S))
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert json.loads(answer.body)["code"] == "restarting"


def test_a_hub_uses_it_and_bears_a_lack_of_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tornado.tcpserver, "add_accept_handler", None)
    hub_process.prepare_hub()
    assert handlers.PrefixRedirectHandler is hub_process.AbsentService
    assert callable(tornado.tcpserver.add_accept_handler)  # type: ignore[attr-defined]


async def test_a_server_of_the_hub_serves_with_the_accept_handler_that_it_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tornado.tcpserver, "add_accept_handler", None)
    hub_process.prepare_hub()
    server = HTTPServer(Application())
    assert isinstance(server, hub_process.HubServer)
    sockets = bind_sockets(0, "127.0.0.1", family=socket.AF_INET)
    server.add_sockets(sockets)
    port = sockets[0].getsockname()[1]
    assert (await ask(f"http://127.0.0.1:{port}/x", "GET")).code == http.client.NOT_FOUND
    for body in ("Content-Length: 2000000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n1e8480\r\n"):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"POST /x HTTP/1.1\r\nHost: a\r\n{body}".encode())
        assert (await reader.readline()).startswith(b"HTTP/1.1 400 "), "nothing of the body has been waited for"
        writer.close()
        await writer.wait_closed()
    server.stop()
    await server.close_all_connections()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


async def test_a_service_that_takes_connections_and_answers_nothing_does_not_hold_up_the_hub(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tornado.tcpserver, "add_accept_handler", None)
    hub_process.prepare_hub()
    with socket.create_server(("127.0.0.1", 0)) as stopped:
        server = Server.from_url(f"http://127.0.0.1:{stopped.getsockname()[1]}/")
        with pytest.raises(TimeoutError):
            await server.wait_up(http=True, timeout=1)
    await JupyterHubHTTPClient.loop_instance().close()
