"""Slow and record every login of the Hub, by form or by REST, with any authenticator.

JupyterHub has no setting for either. Its own records are lines of `hub.log` among all others, without an address.
"""

from __future__ import annotations

import ipaddress
from typing import Any

from jupyterhub.handlers.base import BaseHandler
from tornado.web import HTTPError

from hai_hub.logins.login_records import LoginRecords
from hai_hub.logins.slowing import Slowing

_original = BaseHandler.authenticate


def guard_logins(records: LoginRecords, slowing: Slowing) -> None:
    """Let this Hub process slow and record logins."""

    async def authenticate(self: Any, data: Any) -> Any:
        given = data if isinstance(data, dict) else {}
        # Converted as the authenticator does: by REST the name may be any JSON.
        name, address = str(given.get("username", "")), address_of(self.request)
        key, network = self.authenticator.normalize_username(name), network_of(address)

        def record(outcome: str, who: str = name) -> None:
            try:
                records.record(outcome, who, address, self.request.path)
            except OSError as error:
                # A full disk must not keep the admin out.
                self.log.error("A login cannot be recorded: %s", error.strerror)

        if name and (wait_s := slowing.wait_s(network, key)):
            record("slowed")
            raise too_many(f"Too many failed logins of this name: try again in {wait_s} s", wait_s)
        if name:
            # A try counts as a failure until it is known to be right, else many tries at once would all be checked.
            slowing.failed(network, key)
        try:
            found = await _original(self, data)
        except Exception:
            record("failed")
            raise
        if found:
            slowing.succeeded(network, key)
            record("ok", found["name"] if isinstance(found, dict) else str(found))
        else:
            record("failed")
        return found

    BaseHandler.authenticate = authenticate


def too_many(sentence: str, wait_s: int) -> HTTPError:
    """Return the error of a request that came too early. A header that is set on the answer itself, errors remove."""
    error = HTTPError(429, sentence)
    error.headers = {"Retry-After": str(wait_s)}  # type: ignore[attr-defined]  # JupyterHub sends these
    return error


def address_of(request: Any) -> str:
    """Return a request's address: the one that the proxy appended to `X-Forwarded-For`, or the connection's peer.

    Addresses that a client writes itself are ignored, and so is what is no address: it is shown and logged. tornado's
    `remote_ip` is not used, as it trusts any `X-Real-Ip`.
    """
    context = getattr(request.connection, "context", None)
    peer = str(getattr(context, "_orig_remote_ip", request.remote_ip))
    known = getattr(context, "trusted_downstream", ())
    named = [word.strip() for line in request.headers.get_list("X-Forwarded-For") for word in line.split(",")]
    # JupyterHub.trusted_downstream_ips: proxies in front of the Hub's own.
    found = next((word for word in reversed(named) if word not in known), named[0] if named else peer)
    try:
        # A zone, behind `%`, may be any text.
        return str(ipaddress.ip_address(found.partition("%")[0]))
    except ValueError:
        return peer


def network_of(address: str) -> str:
    """Return what tries from an address count for: an IPv6 address for its /64 network, which is one customer's."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if found.version == 4:
        return str(found)
    return str(found.ipv4_mapped or ipaddress.ip_network((int(found), 64), strict=False))
