"""From where a request comes, as far as that can be told."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence


def address_of(forwarded: Sequence[str], peer: str) -> str:
    """The address that a request counts for before it is known who asks.

    It is what the nearest proxy has appended to `X-Forwarded-For`. Of what a client has written there itself, and
    into `X-Real-Ip`, nothing is believed. Who reaches the service past the proxy can name any address: the limit of
    all addresses together holds for him. An IPv6 address counts as its network of 64 bits, which is one customer's.

    Args:
        forwarded: The `X-Forwarded-For` headers of the request.
        peer: The other end of its connection.
    """
    text = forwarded[-1].rpartition(",")[2].strip() if forwarded else peer
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return "unknown"
    if found.version == 6:
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)
