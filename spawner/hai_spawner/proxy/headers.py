"""Choose the headers that the proxy forwards, and add its own."""

from __future__ import annotations

from collections.abc import Container, Iterable

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
#: Headers of a request for a websocket, and of the answer that grants it.
UPGRADED = {"Connection": "Upgrade", "Upgrade": "websocket"}


def end_to_end(headers: CIMultiDictProxy[str], *, without: Iterable[str] = ()) -> CIMultiDict[str]:
    """Return the headers that belong to the message: neither hop-by-hop nor named by `Connection`."""
    dropped = HOP_BY_HOP | _named_by_connection(headers) | frozenset(without)
    return CIMultiDict((key, value) for key, value in headers.items() if key.lower() not in dropped)


def asks_for_websocket(request: web.Request) -> bool:
    """Return whether a request asks to go on as a websocket (RFC 6455, 4.1); any other upgrade is ignored."""
    return (
        request.method == "GET"
        and not request.body_exists
        and request.headers.get("Upgrade", "").lower() == UPGRADED["Upgrade"]
        and "upgrade" in _named_by_connection(request.headers)
    )


def forwarded(request: web.Request, believed: Container[str] = ()) -> CIMultiDict[str]:
    """Return the request's headers for the server behind, with the client's address and scheme (`X-Forwarded-*`).

    Args:
        request: The request.
        believed: Addresses of proxies before this one: what they say last stands, and is not followed by their own.
    """
    headers = end_to_end(request.headers, without=NEVER_BELIEVED)
    for key, value in (("X-Forwarded-For", request.remote or ""), ("X-Forwarded-Proto", request.scheme)):
        before = ",".join(headers.popall(key, ()))
        stands = before and request.remote in believed
        headers[key] = before if stands else f"{before},{value}" if before else value
    headers.setdefault("X-Forwarded-Host", request.host)
    return headers


def _named_by_connection(headers: CIMultiDictProxy[str]) -> frozenset[str]:
    return frozenset(word.strip().lower() for line in headers.getall("Connection", ()) for word in line.split(","))
