"""The routes of the server extension: they forward requests to the platform with the user's token."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import httpx
import tornado.web
from tornado.iostream import StreamClosedError

from hai_lab import kernels
from hai_lab.boards import handlers as boards
from hai_lab.defaults import submit_defaults
from hai_lab.environments import handlers as environments
from hai_lab.examples import ExamplesHandler
from hai_lab.handler import HaiHandler
from hai_lab.lifetime import LifetimeHandler
from hai_lab.platform import PlatformClient, unreachable
from hai_lab.problem import Problem
from hai_lab.snapshots import SnapshotHandler
from hai_lab.spot import LeaveHandler, SpotHandler

#: Headers of the platform that are forwarded to the browser.
RESPONSE_HEADERS = (
    "Cache-Control",
    "Content-Disposition",
    "Content-Encoding",
    "Content-Type",
    "Retry-After",
    "Vary",
)
#: What the platform says of its version, and what this server says of its own beside it.
VERSION_HEADER = "HAI-Version"
LAB_VERSION_HEADER = "HAI-Lab-Version"
_VERSION = re.compile(r"[0-9A-Za-z.+-]{1,64}")
#: Content types of answers that are passed on piece by piece.
STREAMED = ("text/event-stream", "application/gzip")
#: The platform's own limit, checked here so that a larger request is not sent.
MAX_BODY = 1024 * 1024


class ForwardHandler(HaiHandler):
    """`hai-lab/api/<path>`: the platform's REST interface for the browser."""

    relay: asyncio.Task[None] | None = None

    @tornado.web.authenticated
    async def get(self) -> None:
        """Forward a request that reads."""
        await self.forward()

    @tornado.web.authenticated
    async def post(self) -> None:
        """Forward a request that submits or acts."""
        await self.forward()

    @tornado.web.authenticated
    async def put(self) -> None:
        """Forward a request that changes something."""
        await self.forward()

    @tornado.web.authenticated
    async def delete(self) -> None:
        """Forward a request that removes something."""
        await self.forward()

    def on_connection_close(self) -> None:
        """Cancel the request to the platform when the browser closes its connection."""
        super().on_connection_close()
        if self.relay is not None:
            self.relay.cancel()

    async def forward(self) -> None:
        """Forward the request, and stream the answer back."""
        self.relay = asyncio.ensure_future(self.pass_on())
        # Not awaited directly, because a cancellation is no error of this handler.
        await asyncio.wait([self.relay])
        if self.relay.cancelled():
            return
        error = self.relay.exception()
        if isinstance(error, Problem) and self._headers_written and not self._is_stream_of_events():
            # A file without its end is seen to be one.
            connection: Any = self.request.connection
            connection.stream.close()
        elif isinstance(error, Problem) and self._headers_written:
            # A stream was cut: without an `end` message the browser opens the stream again.
            self.finish(set_content_type="text/event-stream")
        elif isinstance(error, Problem):
            self.refuse(error)
        elif error is not None and not isinstance(error, StreamClosedError):
            raise error

    def _is_stream_of_events(self) -> bool:
        return str(self._headers.get("Content-Type", "")).startswith("text/event-stream")

    async def pass_on(self) -> None:
        """Forward one request.

        Raises:
            Problem: The request is refused here, or the platform cannot be reached.
            StreamClosedError: The browser has left.
        """
        if len(self.request.body) > MAX_BODY:
            raise Problem(413, "too_large", "Too large", "The body is larger than 1 MiB.")
        platform: PlatformClient = self.settings["hai_lab_platform"]
        asked = self.request
        # The raw path: what is percent-encoded (`user%2Fname`) must stay so.
        path = asked.path.partition("/hai-lab/api/")[2]
        request = platform.request(asked.method or "GET", path, asked.query, asked.headers, asked.body)
        response = await platform.send(request)
        try:
            await self.answer(response)
        except httpx.HTTPError as error:
            raise unreachable(type(error).__name__) from None
        finally:
            await response.aclose()

    async def answer(self, response: httpx.Response) -> None:
        """Pass the platform's answer to the browser, each piece at once."""
        self.set_status(response.status_code)
        kind = response.headers.get("Content-Type", "application/json")
        for name in RESPONSE_HEADERS:
            if name in response.headers:
                self.set_header(name, response.headers[name])
        version = response.headers.get(VERSION_HEADER, "")
        # Other bytes could not be passed on as a header.
        if _VERSION.fullmatch(version):
            self.set_header(VERSION_HEADER, version)
            self.set_header(LAB_VERSION_HEADER, self.settings["hai_lab_version"])
        if response.status_code == 204:
            self.finish(set_content_type=kind)
            return
        if kind.startswith(STREAMED):
            self.set_header("X-Accel-Buffering", "no")
            await self.flush()
            async for piece in response.aiter_raw():
                self.write(piece)
                await self.flush()
            self.finish(set_content_type=kind)
            return
        self.finish(b"".join([piece async for piece in response.aiter_raw()]), set_content_type=kind)


class SubmitDefaultsHandler(HaiHandler):
    """`hai-lab/submit-defaults?path=`: the first values of the submit form for a file."""

    @tornado.web.authenticated
    def get(self) -> None:
        """Answer with name, cwd and command."""
        root = Path(self.settings["server_root_dir"]).expanduser().absolute()
        # Drives of the file browser (`RTC:train.py`) show the same files.
        path = self.get_argument("path", "", strip=False).removeprefix("RTC:")
        try:
            found = submit_defaults(root, path)
            if path.lower().endswith(".ipynb"):
                found |= kernels.submission(root / path.strip("/"), self.settings["kernel_spec_manager"])
            self.finish(json.dumps(found))
        except Problem as problem:
            self.refuse(problem)


def routes(base_url: str) -> list[tuple[str, Any]]:
    """Return the routes below a base URL that ends in a slash."""
    base = re.escape(base_url)
    return [
        (f"{base}hai-lab/api/.*", ForwardHandler),
        (f"{base}hai-lab/examples", ExamplesHandler),
        (f"{base}hai-lab/lifetime", LifetimeHandler),
        (f"{base}hai-lab/submit-defaults", SubmitDefaultsHandler),
        (f"{base}hai-lab/snapshot", SnapshotHandler),
        (f"{base}hai-lab/spot", SpotHandler),
        (f"{base}hai-lab/spot/leave", LeaveHandler),
        *environments.routes(base_url),
        *boards.routes(base_url),
    ]
