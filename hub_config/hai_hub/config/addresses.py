"""The addresses of `hai up`: what `--hub-config` says of them, beside `--ip` and `--port`, and what it cannot say."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from hai_hub.config.overrides import Overrides

_T = TypeVar("_T")
#: Settings of JupyterHub that are read here. JupyterHub gets their values from `HubSettings`.
READ: Final = frozenset(("base_url", "bind_url", "hub_bind_url", "hub_ip", "hub_port", "ip", "port"))
_HTTPS: Final = "HTTPS is an option of `hai up`: --certificate FILE --key FILE, or a proxy before it (docs/group.md)"
#: Settings of JupyterHub that `hai up` cannot do with, and why.
_REFUSED: Final[Mapping[str, str]] = {
    "internal_ssl": "all processes of `hai up` are on this machine and speak plain HTTP",
    "ssl_cert": _HTTPS,
    "ssl_key": _HTTPS,
    "subdomain_host": "`hai up` has one address, and users' servers are below it",
}
#: Names of services that are HAI's own.
_OWN: Final = frozenset(("hai", "hai-loop", "hai-up", "hai-spawner"))
_SEGMENT: Final = re.compile(r"(?!\.+$)[A-Za-z0-9._~@-]+")
#: Parts of a path by which `hai login` recognises the address of a page.
_TAKEN: Final = frozenset(("hub", "services", "user"))


class AddressError(ValueError):
    """A setting of an address is wrong; the text names it, its value and the remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HubAddresses:
    """What the file says; None: nothing."""

    ip: str | None = None  #: Address to listen on.
    port: int | None = None  #: Port to listen on.
    base_url: str = "/"  #: Path below which the platform is, with slashes at both ends.
    hub_ip: str = "127.0.0.1"  #: Address that the Hub listens on, behind the proxy.
    hub_port: int | None = None  #: Its port.


def addresses_of(overrides: Overrides) -> HubAddresses:
    """Return the addresses that a file of overrides sets.

    Raises:
        AddressError: A setting is wrong, contradicts another one, or is one that `hai up` cannot do with.
    """
    hub = overrides.get("JupyterHub", {})
    for name, why in _REFUSED.items():
        if hub.get(name):
            raise _wrong(name, hub[name], f"{why}; leave it out")
    for service in hub.get("services") or ():
        if isinstance(service, Mapping) and service.get("name") in _OWN:
            raise _wrong("services", service["name"], "is the name of a service of HAI's own; choose another")
    ip, port, path = _split(hub, "bind_url")
    hub_ip, hub_port, _ = _split(hub, "hub_bind_url")
    hub_host = _one(hub, "hub_ip", hub_ip, "hub_bind_url", _text)
    return HubAddresses(
        ip=_one(hub, "ip", ip, "bind_url", _text),
        port=_one(hub, "port", port, "bind_url", _port),
        base_url=_one(hub, "base_url", path, "bind_url", base_path) or "/",
        hub_ip="127.0.0.1" if hub_host is None else hub_host,
        hub_port=_one(hub, "hub_port", hub_port, "hub_bind_url", _port),
    )


def base_path(name: str, value: Any) -> str:
    """Return a path with slashes at both ends: `lab` and `/lab` are `/lab/`. Raises AddressError."""
    parts = [part for part in _text(name, value).split("/") if part]
    if not all(_SEGMENT.fullmatch(part) and part not in _TAKEN for part in parts):
        remedy = "write a path such as /lab/: letters, digits and . _ ~ @ -, and no part `hub`, `user` or `services`"
        raise _wrong(name, value, remedy)
    return "/".join(["", *parts, ""]) if parts else "/"


def _split(hub: Mapping[str, Any], name: str) -> tuple[str | None, int | None, str | None]:
    """Return address, port and path of a setting that is a URL; None for each if it is not set. A path `/` is none."""
    if name not in hub:
        return None, None, None
    url = _text(name, hub[name])
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _wrong(name, url, "write for example http://127.0.0.1:8000/lab/") from None
    if parts.scheme == "https":
        raise _wrong(name, url, f"{_HTTPS}; write http://")
    if parts.scheme != "http" or parts.username or parts.query or parts.fragment:
        raise _wrong(name, url, "write for example http://127.0.0.1:8000/lab/")
    # As JupyterHub reads it: a URL without a host is for all addresses.
    path = base_path(name, parts.path)
    return parts.hostname or "", port, None if path == "/" else path


def _one(hub: Mapping[str, Any], name: str, of_url: _T | None, url: str, check: Callable[[str, Any], _T]) -> _T | None:
    """Return a value that a setting of its own may say, or a URL. Raises AddressError if they contradict each other."""
    if name not in hub:
        return of_url
    value = check(name, hub[name])
    if of_url is not None and of_url != value:
        raise _wrong(name, hub[name], f"contradicts JupyterHub.{url} = {hub[url]!r}; leave one of them out")
    return value


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or re.search(r"[\s\x00-\x1f]", value):
        raise _wrong(name, value, "write a text without spaces")
    return value


def _port(name: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 65535:
        raise _wrong(name, value, "write a whole number from 1 to 65535")
    return value


def _wrong(name: str, value: Any, why: str) -> AddressError:
    return AddressError(f"JupyterHub.{name} = {value!r}: {why}")
