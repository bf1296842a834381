"""Headers on their way through the proxy."""

from __future__ import annotations

from collections.abc import Iterable

from aiohttp import web
from multidict import CIMultiDict, CIMultiDictProxy

#: They speak of one connection, not of the message (RFC 9110, 7.6.1). `expect` is answered by each side itself.
HOP_BY_HOP = frozenset(
    {
        "connection",
        "expect",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
#: Servers behind believe it more than `X-Forwarded-For`, whoever has written it.
NEVER_BELIEVED = frozenset({"x-real-ip"})
#: The websocket client of the proxy makes its own.
OF_THE_HANDSHAKE = frozenset(
    {"sec-websocket-extensions", "sec-websocket-key", "sec-websocket-protocol", "sec-websocket-version"}
)


def end_to_end(headers: CIMultiDictProxy[str], *, without: Iterable[str] = ()) -> CIMultiDict[str]:
    """The headers that belong to the message: neither hop-by-hop nor named by `Connection`."""
    named = {word.strip().lower() for line in headers.getall("Connection", ()) for word in line.split(",")}
    dropped = HOP_BY_HOP | named | frozenset(without)
    return CIMultiDict((key, value) for key, value in headers.items() if key.lower() not in dropped)


def forwarded(request: web.Request, *, without: Iterable[str] = ()) -> CIMultiDict[str]:
    """The request's headers for the server behind, with who asked and how appended (`X-Forwarded-*`)."""
    headers = end_to_end(request.headers, without=NEVER_BELIEVED.union(without))
    for key, value in (("X-Forwarded-For", request.remote or ""), ("X-Forwarded-Proto", request.scheme)):
        before = ",".join(headers.popall(key, ()))
        headers[key] = f"{before},{value}" if before else value
    headers.setdefault("X-Forwarded-Host", request.host)
    return headers


def subprotocols(request: web.Request) -> tuple[str, ...]:
    """The websocket subprotocols that the client offers, in its order."""
    lines = request.headers.getall("Sec-WebSocket-Protocol", ())
    return tuple(name.strip() for line in lines for name in line.split(",") if name.strip())
