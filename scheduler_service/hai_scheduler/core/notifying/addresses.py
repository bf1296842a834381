"""Where users may have messages sent: which addresses of webhooks and of mail are refused, and why."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final
from urllib.parse import urlsplit

IpAddress = IPv4Address | IPv6Address
IpNetwork = IPv4Network | IPv6Network

#: The most characters of an address.
LONGEST_URL: Final = 2000
LONGEST_MAIL: Final = 254

#: Addresses on the open Internet that stand for services of the machine's own cloud.
_METADATA: Final = frozenset({ip_address("168.63.129.16"), ip_address("fd00:ec2::254")})
#: Of IANA's registries of special-purpose addresses, the networks that not every Python calls private. Some of them can
#: be reached, but they are for protocols, and no webhook is there.
_FOR_PROTOCOLS: Final = (
    # IETF protocol assignments; a cloud has its metadata there.
    IPv4Network("192.0.0.0/24"),
    # AS112, AMT, relays of 6to4, and AS112 again.
    IPv4Network("192.31.196.0/24"),
    IPv4Network("192.52.193.0/24"),
    IPv4Network("192.88.99.0/24"),
    IPv4Network("192.175.48.0/24"),
    # IETF protocol assignments, with Teredo, benchmarks, AMT, AS112, ORCHID and DRIP; AS112 again; documentation.
    IPv6Network("2001::/23"),
    IPv6Network("2620:4f:8000::/48"),
    IPv6Network("3fff::/20"),
)
#: All of IPv6 that is given out for the open Internet.
_UNICAST: Final = IPv6Network("2000::/3")
#: IPv6 networks whose addresses hold an IPv4 address, and its place in bits from the right: NAT64 and 6to4.
_EMBEDDING: Final = ((IPv6Network("64:ff9b::/96"), 0), (IPv6Network("2002::/16"), 80))
#: Before an IPv4 address at the end of an IPv6 address: ISATAP (RFC 5214).
_ISATAP: Final = (0x00005EFE, 0x02005EFE)
_LOCAL_PART: Final = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
_DOMAIN: Final = re.compile(r"([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]")


class BadAddress(ValueError):
    """An address is refused; the message says why and what to do, without the address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookAddress:
    """The address of a webhook, taken apart."""

    host: str
    port: int
    #: Path and query, as the request names them.
    target: str
    #: The host as the request names it, with a port that is not 443.
    authority: str


def hook_address(url: str) -> HookAddress:
    """Take the address of a webhook apart.

    Args:
        url: The address as a user writes it.

    Raises:
        BadAddress: It cannot be the address of a webhook.
    """
    if len(url) > LONGEST_URL:
        raise BadAddress(f"has {len(url)} characters: {LONGEST_URL} are allowed")
    if not url.isascii() or any(ord(one) <= 32 or ord(one) == 127 for one in url):
        raise BadAddress("holds white space or characters beyond ASCII: write the name as xn--..., and %XX in the path")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise BadAddress("is no address: write for example https://hooks.example.org/hai") from None
    if parts.scheme != "https":
        raise BadAddress("must begin with https://: what is sent there is not for others to read")
    host = (parts.hostname or "").rstrip(".")
    if not host or "\\" in url:
        raise BadAddress("names no host: write for example https://hooks.example.org/hai")
    if parts.username is not None or parts.password is not None:
        raise BadAddress("holds a user or a password: leave it out, each request is signed")
    if parts.fragment:
        raise BadAddress("holds a '#': leave out what follows it")
    if port == 0:
        raise BadAddress("names port 0: leave the port out, or name the right one")
    shown = f"[{host}]" if ":" in host else host
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return HookAddress(
        host=host, port=port or 443, target=target, authority=shown if port in (None, 443) else f"{shown}:{port}"
    )


def refusal_of(address: IpAddress, allowed: Collection[IpNetwork] = ()) -> str | None:
    """Return why no message may be sent to an IP address; None: it may.

    Args:
        address: The address that a name has, or that was written.
        allowed: Private networks that the admin allows.
    """
    embedded = _inner(address)
    if any(one in network for one in (address, embedded) for network in allowed):
        return None
    if embedded in _METADATA or address in _METADATA:
        return "is a service of the machine's own cloud"
    return None if _is_open(embedded) else "is not on the open Internet"


def network_of(text: str) -> IpNetwork:
    """Return the network that an admin writes: `10.1.0.0/16`. Raises ValueError."""
    return ip_network(text, strict=True)


def check_mail(address: str, domains: Collection[str] = ()) -> None:
    """Check the mail address of a user.

    Args:
        address: The address.
        domains: The domains that the admin allows, in small letters; empty: all.

    Raises:
        BadAddress: Nothing is sent there.
    """
    local, _, domain = address.rpartition("@")
    domain = domain.lower()
    if len(address) > LONGEST_MAIL or len(local) > 64 or not _LOCAL_PART.fullmatch(local):
        raise BadAddress("is no mail address: write for example ann@example.org, without a name before it")
    if not _DOMAIN.fullmatch(domain):
        raise BadAddress("has no domain after the @ that could receive mail: write for example ann@example.org")
    if domains and domain not in domains:
        shown = ", ".join(sorted(domains)[:5])
        raise BadAddress(f"has a domain that this platform sends nothing to: use an address of {shown}")


def _is_open(address: IpAddress) -> bool:
    if not address.is_global or address.is_multicast or address.is_reserved or address.is_unspecified:
        return False
    if address.version == 6 and address not in _UNICAST:
        return False
    return not any(address in network for network in _FOR_PROTOCOLS)


def _inner(address: IpAddress) -> IpAddress:
    """The IPv4 address that an IPv6 address stands for; else the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    for network, shift in _EMBEDDING:
        if address in network:
            return IPv4Address((int(address) >> shift) & 0xFFFFFFFF)
    if (int(address) >> 32) & 0xFFFFFFFF in _ISATAP:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address
