"""A platform that records what it gets, and a real Jupyter Server with the extension in front of it."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import logging
import signal
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import tornado.httpserver
import tornado.web
from tornado.iostream import StreamClosedError
from tornado.netutil import bind_sockets

from hai_lab import _load_jupyter_server_extension
from hai_lab.platform import API_PATH, PlatformClient

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


@contextlib.asynccontextmanager
async def serving(app: tornado.web.Application) -> AsyncIterator[str]:
    server = tornado.httpserver.HTTPServer(app)
    sockets = bind_sockets(0, "127.0.0.1")
    server.add_sockets(sockets)
    try:
        yield f"http://127.0.0.1:{sockets[0].getsockname()[1]}"
    finally:
        server.stop()
        await server.close_all_connections()


@pytest.fixture
async def upstream() -> AsyncIterator[Upstream]:
    found = Upstream()
    app = tornado.web.Application([(f"{API_PATH}/nodes", Long), (f"{API_PATH}/.*", Echo, {"upstream": found})])
    async with serving(app) as url:
        found.url = url
        yield found


@pytest.fixture
def environment(upstream: Upstream) -> dict[str, str]:
    """What the spawner sets; a test may change it before it asks for `lab`."""
    return {"HAI_API_URL": f"{upstream.url}{API_PATH}", "JUPYTERHUB_API_TOKEN": TOKEN}


@dataclass
class Lab:
    """A Jupyter Server with the extension, and a browser's way to it."""

    url: str
    root: Path
    browser: httpx.AsyncClient
    web_app: Any

    async def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        """A request with the server's own token, as scripts send it."""
        headers = {"Authorization": f"token {LAB_TOKEN}", **options.pop("headers", {})}
        return await self.browser.request(method, f"{self.url}{path}", headers=headers, **options)


@pytest.fixture
async def lab(environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Lab]:
    from jupyter_server.serverapp import ServerApp

    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("JUPYTER_NO_CONFIG", "1")
    for name in ("HAI_API_URL", "HAI_URL", "JUPYTERHUB_API_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    root = tmp_path / "home"
    root.mkdir()
    with kept_logging(), kept_signals():
        app = ServerApp()
        app.initialize(
            argv=[
                "--ServerApp.base_url=/user/alice/",
                "--ServerApp.allow_unauthenticated_access=False",
                "--ServerApp.log_level=ERROR",
                f"--ServerApp.root_dir={root}",
                f"--IdentityProvider.token={LAB_TOKEN}",
            ],
            new_httpserver=False,
            find_extensions=False,
        )
        _load_jupyter_server_extension(app)
        platform: PlatformClient = app.web_app.settings["hai_lab_platform"]
        async with serving(app.web_app) as url, httpx.AsyncClient(trust_env=False, timeout=10) as browser:
            try:
                yield Lab(f"{url}/user/alice/", root, browser, app.web_app)
            finally:
                await platform.client.aclose()
                await app._cleanup()


@contextlib.contextmanager
def kept_signals() -> Iterator[None]:
    """Jupyter Server takes signals over; other tests must not notice."""
    numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGCONT]
    if hasattr(signal, "SIGINFO"):
        numbers.append(signal.SIGINFO)
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def kept_logging() -> Iterator[None]:
    """Jupyter Server rearranges the log handlers of tornado; other tests must not notice."""
    names = ("tornado.access", "tornado.application", "tornado.general", "ServerApp")
    before = {name: (logging.getLogger(name).handlers[:], logging.getLogger(name).propagate) for name in names}
    try:
        yield
    finally:
        for name, (handlers, propagate) in before.items():
            logging.getLogger(name).handlers[:] = handlers
            logging.getLogger(name).propagate = propagate
