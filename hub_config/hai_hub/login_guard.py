"""Around every login of the Hub, by form or by REST, with whatever authenticator: slowed after failures, and recorded.

JupyterHub has no setting for either; its own records are lines of `hub.log` among all others, without an address.
"""

from __future__ import annotations

from typing import Any

from jupyterhub.handlers.base import BaseHandler
from tornado.web import HTTPError

from hai_hub.login_records import LoginRecords
from hai_hub.slowing import Slowing

_original = BaseHandler.authenticate


def guard_logins(records: LoginRecords, slowing: Slowing) -> None:
    """Let this Hub process slow and record logins."""

    async def authenticate(self: Any, data: Any) -> Any:
        given = data if isinstance(data, dict) else {}
        name, address = str(given.get("username") or ""), str(self.request.remote_ip)
        key = self.authenticator.normalize_username(name)

        def record(outcome: str, who: str = name) -> None:
            try:
                records.record(outcome, who, address, self.request.path)
            except OSError as error:
                # A full disk must not keep the admin out.
                self.log.error("A login cannot be recorded: %s", error.strerror)

        if name and (wait_s := slowing.wait_s(address, key)):
            record("slowed")
            self.set_header("Retry-After", str(wait_s))
            raise HTTPError(429, f"Too many failed logins of this name from your address: try again in {wait_s} s")
        try:
            found = await _original(self, data)
        except Exception:
            record("failed")
            raise
        if found:
            slowing.succeeded(address, key)
            record("ok", found["name"] if isinstance(found, dict) else str(found))
        else:
            if name:
                slowing.failed(address, key)
            record("failed")
        return found

    BaseHandler.authenticate = authenticate
