"""Authentication within limits: a request about which the Hub must be asked counts for the address it comes from."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from tornado.web import RequestHandler

from hai_scheduler.api.server.auth import HubHandler
from hai_scheduler.api.server.kinds import Kind
from hai_scheduler.api.server.limits import Limits
from hai_scheduler.api.server.problems import Refused
from hai_scheduler.service.shared.caller import Caller


async def log_in(handler: HubHandler, limits: Limits) -> Caller:
    """Return the user or service that sends the request. Raises Refused: 401, 403, 429 or 503.

    A token that the Hub has known lately is not limited. A request without token and cookie, which is refused without a
    question to the Hub, counts as one of anybody (`Kind.PUBLIC`). All others count for the limit of their address
    (`Kind.LOGIN`).
    """
    auth = handler.auth
    if auth.has_known(handler):
        return await auth.caller(handler)
    if not auth.must_ask(handler):
        # Apart from those for health, which a flood of these must not keep from being answered. Twice: it is of use to
        # nobody, and a browser is sent to the login once.
        limits[Kind.PUBLIC].arrive(f"{address(handler)} without a token", 2.0).end()
        return await auth.caller(handler)
    attempt = limits[Kind.LOGIN].arrive(address(handler), 0.0)
    try:
        await attempt.begin()
        return await auth.caller(handler)
    except Refused as refused:
        if refused.code == "unauthorized":
            attempt.charge(1.0)
        raise
    finally:
        attempt.end()


def address(handler: RequestHandler) -> str:
    """Return the address that a request comes from, as far as it can be known."""
    # `remote_ip` may come from a header that the client has written; this is the connection's other end.
    context = getattr(handler.request.connection, "context", None)
    peer = str(getattr(context, "_orig_remote_ip", ""))
    return address_of(handler.request.headers.get_list("X-Forwarded-For"), peer)


def address_of(forwarded: Sequence[str], peer: str) -> str:
    """Return the address whose budget a request counts for before its caller is known.

    This is the address that the nearest proxy has appended to `X-Forwarded-For`. What a client itself has written there
    or into `X-Real-Ip` is ignored. A client that reaches the service past the proxy can name any address; the limit for
    all addresses together still holds for it. An IPv6 address counts as its /64 network, which is one customer's.

    Args:
        forwarded: The `X-Forwarded-For` headers of the request.
        peer: The address at the other end of its connection.
    """
    text = forwarded[-1].rpartition(",")[2].strip() if forwarded else peer
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return "unknown"
    if found.version == 6:
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)
