"""The address that a request comes from, as far as it can be known."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence


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
