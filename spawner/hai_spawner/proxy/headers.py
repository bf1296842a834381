"""Choose the headers that the proxy forwards, and add its own."""

from __future__ import annotations

from collections.abc import Iterable

from aiohttp import web
from multidict import CIMultiDict, CIMultiDictProxy

#: Headers of one connection, not of the message (RFC 9110, 7.6.1). Each side answers `expect` itself.
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
#: Headers that are removed: servers behind trust `X-Real-Ip` more than `X-Forwarded-For`, and any client can send it.
NEVER_BELIEVED = frozenset({"x-real-ip"})
#: Headers that the proxy's websocket client makes itself.
OF_THE_HANDSHAKE = frozenset(
    {"sec-websocket-extensions", "sec-websocket-key", "sec-websocket-protocol", "sec-websocket-version"}
)


def end_to_end(headers: CIMultiDictProxy[str], *, without: Iterable[str] = ()) -> CIMultiDict[str]:
    """Return the headers that belong to the message: neither hop-by-hop nor named by `Connection`."""
    named = {word.strip().lower() for line in headers.getall("Connection", ()) for word in line.split(",")}
    dropped = HOP_BY_HOP | named | frozenset(without)
    return CIMultiDict((key, value) for key, value in headers.items() if key.lower() not in dropped)


def forwarded(request: web.Request, *, without: Iterable[str] = ()) -> CIMultiDict[str]:
    """Return the request's headers for the server behind, with the client's address and scheme (`X-Forwarded-*`)."""
    headers = end_to_end(request.headers, without=NEVER_BELIEVED.union(without))
    for key, value in (("X-Forwarded-For", request.remote or ""), ("X-Forwarded-Proto", request.scheme)):
        before = ",".join(headers.popall(key, ()))
        headers[key] = f"{before},{value}" if before else value
    headers.setdefault("X-Forwarded-Host", request.host)
    return headers


def subprotocols(request: web.Request) -> tuple[str, ...]:
    """Return the websocket subprotocols that the client offers, in the client's order."""
    lines = request.headers.getall("Sec-WebSocket-Protocol", ())
    return tuple(name.strip() for line in lines for name in line.split(",") if name.strip())
