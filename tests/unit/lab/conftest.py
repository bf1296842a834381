"""A platform that records what it gets, and a real Jupyter Server with the extension in front of it."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import pytest
import tornado.httpserver
import tornado.web
from jupyter_server.serverapp import ServerApp
from pytest_jupyter.jupyter_server import *  # noqa: F403
from tornado.httpclient import HTTPResponse
from tornado.iostream import StreamClosedError
from tornado.netutil import bind_sockets
from traitlets.config import Config

from hai_lab.platform import API_PATH

# Coroutines are run by pytest-asyncio, as everywhere; a test without a server has nothing to clean up.
del pytest_pyfunc_call, pytest_pycollect_makeitem, jp_server_cleanup  # noqa: F821

TOKEN = "platform-token-7f3a"
LAB_TOKEN = "lab-token-19c2"
PROBLEM = {
    "type": "about:blank",
    "title": "Invalid",
    "status": 422,
    "detail": "nodes is 99; your quota at HIGH is 8.",
    "code": "quota",
    "errors": [{"field": "nodes", "value": 99, "message": "Ask for 8 or fewer."}],
}
#: A long answer.
NODES = json.dumps({"items": [{"name": f"node-{number}"} for number in range(1500)]}).encode()


@dataclass
class Upstream:
    """The platform, as far as these tests need one."""

    url: str = ""
    requests: list[tornado.web.httputil.HTTPServerRequest] = field(default_factory=list)
    #: Lines for the open event stream; None ends it.
    lines: asyncio.Queue[str | None] = field(default_factory=asyncio.Queue)
    stream_gone: asyncio.Event = field(default_factory=asyncio.Event)
    #: Tasks by id; None: it echoes what is asked for.
    tasks: dict[str, Any] | None = None
    #: What it says of its version; None: nothing.
    version: str | None = None

    @property
    def last(self) -> tornado.web.httputil.HTTPServerRequest:
        return self.requests[-1]


class Echo(tornado.web.RequestHandler):
    """Answers every verb by what the path asks for."""

    def initialize(self, upstream: Upstream) -> None:
        self.upstream = upstream

    async def answer(self) -> None:
        self.upstream.requests.append(self.request)
        path = self.request.path.removeprefix(API_PATH)
        self.set_header("X-Secret", TOKEN)
        self.set_header("Set-Cookie", f"session={TOKEN}")
        if self.upstream.version is not None:
            self.set_header("HAI-Version", self.upstream.version)
        if path == "/problem":
            self.set_status(422)
            self.set_header("Content-Type", "application/problem+json")
            self.finish(json.dumps(PROBLEM))
        elif path == "/empty":
            self.set_status(204)
        elif path == "/login":
            self.redirect("/hub/login")
        elif path == "/page":
            self.set_status(502)
            self.finish("<html>Bad gateway</html>")
        elif path == "/events":
            await self.stream()
        elif path.startswith("/tasks/") and self.upstream.tasks is not None:
            number = path.removeprefix("/tasks/")
            self.set_status(200 if number in self.upstream.tasks else 404)
            self.finish(
                self.upstream.tasks.get(number) or {"code": "not_found", "detail": f"There is no task {number}."}
            )
        elif path.endswith("/trace"):
            self.set_header("Content-Type", "application/gzip")
            self.set_header("Content-Disposition", 'attachment; filename="recording-3.json.gz"')
            self.write(b"\x1f\x8b first half, ")
            await self.flush()
            if "breaks" in path:
                self.request.connection.stream.close()
                return
            await self.upstream.lines.get()
            self.finish(b"second half")
        else:
            self.set_status(201 if self.request.method == "POST" else 200)
            self.finish({"path": self.request.path, "method": self.request.method})

    get = post = put = delete = answer

    def on_connection_close(self) -> None:
        self.upstream.stream_gone.set()
        self.upstream.lines.put_nowait(None)

    async def stream(self) -> None:
        self.set_header("Content-Type", "text/event-stream")
        self.write("event: hello\ndata: {}\n\n")
        with contextlib.suppress(StreamClosedError):
            await self.flush()
            while (line := await self.upstream.lines.get()) is not None:
                self.write(line)
                await self.flush()


class Long(tornado.web.RequestHandler):
    """A long answer, compressed for who takes it so."""

    def get(self) -> None:
        packs = "gzip" in self.request.headers["Accept-Encoding"]
        self.set_header("Content-Type", "application/json")
        self.set_header("Vary", "Accept-Encoding")
        if packs:
            self.set_header("Content-Encoding", "gzip")
        self.finish(gzip.compress(NODES) if packs else NODES)


@pytest.fixture
async def upstream() -> AsyncIterator[Upstream]:
    found = Upstream()
    app = tornado.web.Application([(f"{API_PATH}/nodes", Long), (f"{API_PATH}/.*", Echo, {"upstream": found})])
    server = tornado.httpserver.HTTPServer(app)
    (socket,) = bind_sockets(0, "127.0.0.1")
    server.add_socket(socket)
    found.url = f"http://127.0.0.1:{socket.getsockname()[1]}"
    yield found
    server.stop()
    await server.close_all_connections()


@pytest.fixture
def environment(upstream: Upstream) -> dict[str, str]:
    """What the spawner sets; a test may change it before it asks for a server."""
    return {"HAI_API_URL": f"{upstream.url}{API_PATH}", "JUPYTERHUB_API_TOKEN": TOKEN}


@pytest.fixture
async def jp_asyncio_loop() -> asyncio.AbstractEventLoop:
    """The loop of the test, in which pytest-jupyter starts the server."""
    return asyncio.get_running_loop()


@pytest.fixture
def jp_base_url() -> str:
    return "/user/alice/"


@pytest.fixture
def jp_server_config() -> Config:
    return Config(
        {
            "ServerApp": {
                "allow_unauthenticated_access": False,
                "jpserver_extensions": {"hai_lab": True, "jupyter_server_terminals": False},
            },
            "IdentityProvider": {"token": LAB_TOKEN},
        }
    )


@pytest.fixture
def jp_serverapp(
    environment: dict[str, str],
    jp_configurable_serverapp: Callable[[], ServerApp],
    jp_asyncio_loop: asyncio.AbstractEventLoop,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[ServerApp]:
    """A Jupyter Server with the extension, as a spawner starts it."""
    for name in ("HAI_API_URL", "HAI_URL", "JUPYTERHUB_API_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    # Jupyter Server takes the logs of tornado over; other tests must not notice.
    logs = logging.getLogger("tornado")
    for name in ("parent", "propagate", "level"):
        monkeypatch.setattr(logs, name, getattr(logs, name))
    app = jp_configurable_serverapp()
    yield app
    jp_asyncio_loop.run_until_complete(app.web_app.settings["hai_lab_platform"].client.aclose())
    jp_asyncio_loop.run_until_complete(app._cleanup())
    ServerApp.clear_instance()


Ask = Callable[..., Awaitable[HTTPResponse]]


@pytest.fixture
def ask(http_server_client: Any, jp_base_url: str, jp_auth_header: dict[str, str]) -> Ask:
    """A request with the server's own token, as scripts send it. A refusal is an answer, not an error.

    `jp_fetch` would quote the path once more, which here is what a browser or an attacker sends.
    """

    def fetch(
        method: str, path: str, *, send: Any = None, params: Any = None, headers: Any = None, **options: Any
    ) -> Awaitable[HTTPResponse]:
        if send is not None:
            options["body"] = json.dumps(send)
        answer: Awaitable[HTTPResponse] = http_server_client.fetch(
            f"{jp_base_url}{path}" + (f"?{urlencode(params)}" if params else ""),
            method=method,
            headers=jp_auth_header | (headers or {}),
            **{"raise_error": False, "allow_nonstandard_methods": True, "follow_redirects": False} | options,
        )
        return answer

    return fetch


@pytest.fixture
def stranger(ask: Ask) -> Ask:
    """The same without the token."""
    return lambda *words, headers=None, **more: ask(*words, headers={"Authorization": ""} | (headers or {}), **more)


@pytest.fixture
def stream(ask: Ask) -> Callable[[str], Stream]:
    return lambda path: Stream(ask, path)


class Stream:
    """An answer that is read as it comes."""

    def __init__(self, ask: Ask, path: str) -> None:
        self._pieces: asyncio.Queue[bytes] = asyncio.Queue()
        self.text = ""
        #: The whole answer, when it has ended.
        self.answer = asyncio.ensure_future(
            ask("GET", path, streaming_callback=self._pieces.put_nowait, request_timeout=0)
        )

    async def until(self, met: Callable[[str], object]) -> str:
        """Wait until enough has come; return all that has come since the stream began."""
        while not met(self.text):
            self.text += (await asyncio.wait_for(self._pieces.get(), 60)).decode(errors="replace")
        return self.text


def cookies_of(answer: HTTPResponse) -> dict[str, str]:
    """The header that a browser sends after this answer."""
    return {"Cookie": "; ".join(each.partition(";")[0] for each in answer.headers.get_list("Set-Cookie"))}


def said(answer: HTTPResponse) -> Any:
    """The JSON of an answer."""
    return json.loads(answer.body)
