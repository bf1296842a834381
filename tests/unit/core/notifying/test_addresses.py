"""Which addresses of webhooks and of mail are refused."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv6Address, ip_address, ip_network

import pytest

from hai_scheduler.core.notifying.addresses import (
    BadAddress,
    HookAddress,
    IpAddress,
    check_mail,
    hook_address,
    refusal_of,
)


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://example.org", HookAddress(host="example.org", port=443, target="/", authority="example.org")),
        (
            "https://Example.ORG.:8443/a/b?c=d",
            HookAddress(host="example.org", port=8443, target="/a/b?c=d", authority="example.org:8443"),
        ),
        (
            "https://[2606:2800:220:1::1]/x",
            HookAddress(host="2606:2800:220:1::1", port=443, target="/x", authority="[2606:2800:220:1::1]"),
        ),
    ],
)
def test_an_address_is_taken_apart(url: str, address: HookAddress) -> None:
    assert hook_address(url) == address


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://example.org/x", "must begin with https://"),
        ("ftp://example.org/x", "must begin with https://"),
        ("example.org/x", "must begin with https://"),
        ("file:///etc/passwd", "must begin with https://"),
        ("https://", "names no host"),
        ("https:///x", "names no host"),
        ("https://ann:pw@example.org/", "holds a user or a password"),
        ("https://example.org@10.0.0.1/", "holds a user or a password"),
        ("https://example.org/#x", "holds a '#'"),
        ("https://example.org:0/", "names port 0"),
        ("https://example.org:99999/", "is no address"),
        ("https://[::1/x", "is no address"),
        ("https://example.org\\@10.0.0.1/", "names no host"),
        ("https://example.org/a b", "white space"),
        ("https://example.org/\r\nHost: x", "white space"),
        ("https://exämple.org/", "beyond ASCII"),
        ("https://example.org/" + "x" * 2000, "2000 are allowed"),
    ],
)
def test_a_wrong_address_is_refused_with_the_remedy(url: str, why: str) -> None:
    with pytest.raises(BadAddress) as refused:
        hook_address(url)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1",
        "169.254.169.254", "100.64.0.1", "100.100.100.200", "192.0.0.192", "198.18.0.1", "224.0.0.1", "240.0.0.1",
        "255.255.255.255", "168.63.129.16", "192.0.2.1", "::", "::1", "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1",
        "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:168.63.129.16", "64:ff9b::a9fe:a9fe", "64:ff9b::7f00:1",
        "2002:7f00:1::", "2002:a9fe:a9fe::1", "2001:db8::1",
    ],
)  # fmt: skip
def test_what_is_not_on_the_open_internet_is_refused(address: str) -> None:
    assert refusal_of(ip_address(address)) is not None


#: IANA's registries of special-purpose addresses, of multicast, and what neither has and is not for the open Internet.
SPECIAL = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32", "192.0.0.10/32", "192.0.0.170/31", "192.0.2.0/24",
    "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "255.255.255.255/32",
    "::1/128", "::/128", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23", "2001::/32", "2001:1::1/128",
    "2001:1::2/128", "2001:1::3/128", "2001:2::/48", "2001:3::/32", "2001:4:112::/48", "2001:10::/28", "2001:20::/28",
    "2001:30::/28", "2001:db8::/32", "2620:4f:8000::/48", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "ff00::/8",
    "::/96", "::ffff:0:0:0/96", "fec0::/10", "200::/7", "400::/6", "4000::/3", "8000::/2", "c000::/3", "e000::/4",
]  # fmt: skip


def ends(network: str) -> tuple[IpAddress, ...]:
    found = ip_network(network)
    return found[0], found[found.num_addresses // 2], found[-1]


@pytest.mark.parametrize("network", SPECIAL)
def test_every_network_for_special_purposes_is_refused(network: str) -> None:
    for address in ends(network):
        assert refusal_of(address) is not None, address


@pytest.mark.parametrize("network", [one for one in SPECIAL if ":" not in one])
@pytest.mark.parametrize(
    "form",
    [
        lambda inner: IPv6Address("::ffff:0:0") + inner,
        lambda inner: IPv6Address("64:ff9b::") + inner,
        lambda inner: IPv6Address("2002::") + (inner << 80) + 1,
        lambda inner: IPv6Address("2606:4700::5efe:0:0") + inner,
        lambda inner: IPv6Address("2606:4700::200:5efe:0:0") + inner,
        lambda inner: IPv6Address("2001::") + (inner ^ 0xFFFFFFFF),
    ],
    ids=["IPv4-mapped", "NAT64", "6to4", "ISATAP, private", "ISATAP", "Teredo"],
)
def test_so_is_every_ipv6_address_that_stands_for_one(network: str, form: Callable[[int], IPv6Address]) -> None:
    for address in ends(network):
        assert refusal_of(form(int(address))) is not None, address


@pytest.mark.parametrize(
    "address",
    [
        "93.184.216.34", "8.8.8.8", "172.32.0.1", "192.0.1.1", "198.20.0.1", "2606:4700::1111", "2a00::1",
        "64:ff9b::808:808", "2002:808:808::1", "2001:200::1",
    ],
)  # fmt: skip
def test_the_open_internet_is_allowed(address: str) -> None:
    assert refusal_of(ip_address(address)) is None


def test_an_admin_allows_a_private_network_and_no_other() -> None:
    allowed = [ip_network("10.20.0.0/16"), ip_network("fd12::/16")]
    for inside in ("10.20.1.1", "::ffff:10.20.1.1", "fd12::1"):
        assert refusal_of(ip_address(inside), allowed) is None, inside
    for outside in ("10.21.0.1", "169.254.169.254", "127.0.0.1", "fd13::1"):
        assert refusal_of(ip_address(outside), allowed) is not None, outside


@pytest.mark.parametrize("address", ["ann@example.org", "a.b+c@mail.example.org", "x_1@a-b.example"])
def test_mail_addresses(address: str) -> None:
    check_mail(address)


@pytest.mark.parametrize(
    "address",
    [
        "", "ann", "@example.org", "ann@", "ann@localhost", "ann@10.0.0.1", "ann@[10.0.0.1]", "ann@-x.org", "a b@x.org",
        "Ann <ann@example.org>", "ann@example.org, bob@example.org", "ann@example.org\nBcc: x@example.org",
        "ann@example.org\r\n", ".ann@example.org", "a..b@example.org", '"a b"@example.org', "ann@exämple.org",
        "x" * 65 + "@example.org", "a@" + "x." * 130 + "org", "ann%x@example.org@evil.org",
    ],
)  # fmt: skip
def test_odd_mail_addresses_are_refused_with_an_example(address: str) -> None:
    with pytest.raises(BadAddress) as refused:
        check_mail(address)
    assert "ann@example.org" in str(refused.value)


def test_an_admin_allows_some_domains() -> None:
    check_mail("ann@Example.ORG", {"example.org"})
    with pytest.raises(BadAddress) as refused:
        check_mail("ann@sub.example.org", {"example.org"})
    assert "use an address of example.org" in str(refused.value)
