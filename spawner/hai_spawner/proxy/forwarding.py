"""Forward requests to the server of their route, streamed in both directions.

This module uses aiohttp and the route table, and nothing of JupyterHub.
"""

from __future__ import annotations

import logging
from collections.abc import Container
from dataclasses import dataclass
from typing import Final

import aiohttp
from aiohttp import web
from yarl import URL

from hai_spawner.proxy import websockets
from hai_spawner.proxy.headers import UPGRADED, asks_for_websocket, end_to_end, forwarded
from hai_spawner.proxy.routes import RouteTable
from hai_spawner.proxy.slowness import Body, TooSlow, give

#: Most bytes of a line and of a header, the same as tornado's limit.
HEADER_LIMIT: Final = 64 * 1024
#: Seconds to wait for a server to accept a connection.
CONNECT_TIMEOUT_S: Final = 10.0
#: Headers that aiohttp would add by itself although the client did not send them.
_NEVER_ADDED: Final = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
#: The status with which a server goes on in another protocol.
_SWITCHED: Final = 101
#: Seconds that a client is told to wait before its next try.
RETRY_AFTER_S: Final = 2
_STARTING: Final = "The platform is starting: try again in a moment."
_SILENT: Final = "The server behind this address does not answer. It may be starting again: try again in a moment."
_BROKEN_OFF: Final = (
    "The server behind this address broke off. It may have done what was asked: look before you repeat it."
)
_SLOW: Final = "The request's body came too slowly, and was not waited for any longer: send it again."
_UNKNOWN: Final = "No server is registered for this address."


def new_session() -> aiohttp.ClientSession:
    """Return a session for connections to the servers behind: no cookies, no total timeout, no decompression."""
    return aiohttp.ClientSession(
        auto_decompress=False,
        connector=aiohttp.TCPConnector(limit=0),
        cookie_jar=aiohttp.DummyCookieJar(),
        max_field_size=HEADER_LIMIT,
        max_line_size=HEADER_LIMIT,
        skip_auto_headers=_NEVER_ADDED,
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S),
    )


@dataclass(frozen=True, slots=True)
class ProxyFailure:
    """An error that the proxy itself answers."""

    status: int
    title: str
    code: str  #: The code for programs. `restarting` promises that no server has seen the request.
    detail: str


NO_SUCH = ProxyFailure(404, "Not Found", "not_found", _UNKNOWN)
STARTING = ProxyFailure(503, "Service Unavailable", "restarting", _STARTING)
SILENT = ProxyFailure(503, "Service Unavailable", "restarting", _SILENT)
SLOW = ProxyFailure(408, "Request Timeout", "too_slow", _SLOW)
BROKEN_OFF = ProxyFailure(502, "Bad Gateway", "unavailable", _BROKEN_OFF)


class Forwarder:
    """Sends each request to the server of its route.

    Args:
        routes: The table of routes, which may change at any time.
        log: Log for servers that do not answer.
        error_url: The Hub's `.../hub/error`, which makes the error page for browsers; None: a plain page.
        believed: Addresses of proxies before this one, which say whose request it is.
    """

    def __init__(
        self, routes: RouteTable, log: logging.Logger, *, error_url: str | None = None, believed: Container[str] = ()
    ) -> None:
        self._routes = routes
        self._log = log
        self._error_url = error_url
        self._believed = believed
        self._session: aiohttp.ClientSession | None = None
        #: Servers that do not answer, which is logged only once until they answer again.
        self._silent: set[str] = set()

    @property
    def session(self) -> aiohttp.ClientSession:
        """The connections to the servers, made on first use inside the running loop."""
        if self._session is None:
            self._session = new_session()
        return self._session

    async def close(self) -> None:
        """Close all connections to the servers behind."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request; this is the handler of the proxy's only aiohttp route."""
        target = _target_of(request)
        if target is None:
            return web.Response(status=400, text="The request must name a path that starts with '/'.\n")
        route = self._routes.find(request.host, target.partition("?")[0])
        if route is None:
            # The Hub adds its own route among the first. Before that, the proxy cannot know which servers exist.
            return await self._fail(request, NO_SUCH if self._routes.has_hub else STARTING)
        url = URL(str(URL(route.target).origin()) + target, encoded=True)
        body = Body(request.content) if request.body_exists else None
        try:
            return await self._forward(request, url, route.target, body)
        except (aiohttp.ClientConnectionError, TimeoutError) as error:
            if body is not None and body.was_too_slow:
                slow = await self._fail(request, SLOW)
                slow.force_close()
                return slow
            if route.target not in self._silent:
                self._silent.add(route.target)
                self._log.warning("No answer from %s for %s %s: %s", route.target, request.method, request.path, error)
            return await self._fail(request, SILENT if _unsent(error) else BROKEN_OFF)

    async def _forward(self, request: web.Request, url: URL, target: str, body: Body | None) -> web.StreamResponse:
        """Forward a request. Errors before the answer begins are raised; later ones close the connection."""
        headers, websocket = forwarded(request, self._believed), asks_for_websocket(request)
        if websocket:
            headers.update(UPGRADED)
        async with self.session.request(
            request.method,
            url,
            headers=headers,
            data=body,
            allow_redirects=False,
        ) as upstream:
            self._silent.discard(target)
            if upstream.status == _SWITCHED:
                if not websocket:
                    raise aiohttp.ClientConnectionError("the server has switched protocols without being asked")
                return await websockets.bridge(request, upstream)
            answer = web.StreamResponse(
                status=upstream.status, reason=upstream.reason, headers=end_to_end(upstream.headers)
            )
            await answer.prepare(request)
            try:
                async for chunk in upstream.content.iter_any():
                    await give(answer, chunk)
            except (aiohttp.ClientError, TooSlow):
                # A clean end would tell the client that the answer is complete.
                if request.transport is not None:
                    request.transport.abort()
                return answer
            await answer.write_eof()
            return answer

    async def _fail(self, request: web.Request, failure: ProxyFailure) -> web.Response:
        """Return an error: the Hub's page for browsers, a problem document (RFC 9457) for other clients."""
        status = failure.status
        headers = {} if failure in (NO_SUCH, SLOW) else {"Retry-After": str(RETRY_AFTER_S)}
        if "text/html" in request.headers.get("Accept", ""):
            page = await self._page(request, status) or _plain_page(failure)
            return web.Response(status=status, body=page, content_type="text/html", headers=headers)
        problem = {
            "type": "about:blank",
            "title": failure.title,
            "status": status,
            "detail": failure.detail,
            "code": failure.code,
        }
        return web.json_response(problem, status=status, content_type="application/problem+json", headers=headers)

    async def _page(self, request: web.Request, status: int) -> bytes | None:
        if self._error_url is None:
            return None
        timeout = aiohttp.ClientTimeout(total=CONNECT_TIMEOUT_S)
        try:
            async with self.session.get(
                f"{self._error_url}/{status}", params={"url": request.path}, timeout=timeout
            ) as page:
                return await page.read()
        except (aiohttp.ClientError, TimeoutError):
            return None


def _plain_page(failure: ProxyFailure) -> bytes:
    """Return the page for browsers while the Hub cannot make one; it reloads itself unless the address is unknown."""
    again = "" if failure is NO_SUCH else f'<meta http-equiv="refresh" content="{RETRY_AFTER_S}">'
    page = (
        f"<!DOCTYPE html><html><head><title>{failure.title}</title>{again}</head><body>{failure.detail}</body></html>"
    )
    return page.encode()


def _unsent(error: BaseException) -> bool:
    """Return whether no connection was made, so that the server cannot have got the request."""
    return isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError)


def _target_of(request: web.Request) -> str | None:
    """Return path and query as the client spelled them; None if that is no path.

    The path is appended to the server's address: a target such as `@elsewhere/` would make that another address.
    """
    if request.raw_path.startswith("/"):
        return request.raw_path
    absolute = URL(request.raw_path, encoded=True) if "://" in request.raw_path else None
    return absolute.raw_path_qs if absolute is not None and absolute.raw_path_qs.startswith("/") else None
