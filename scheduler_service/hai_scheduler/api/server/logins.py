"""Finding out who asks, within limits: what the Hub must be asked about counts for the address that it comes from."""

from __future__ import annotations

from tornado.web import HTTPError

from hai_scheduler.api.server.addresses import address_of
from hai_scheduler.api.server.auth import Auth, HubHandler
from hai_scheduler.api.server.kinds import Kind
from hai_scheduler.api.server.limits import Limits
from hai_scheduler.api.server.problems import Refused
from hai_scheduler.service.shared.caller import Caller


async def log_in(handler: HubHandler, limits: Limits) -> Caller:
    """The user or service of the request. Raises Refused: 401, 403, 429 or 503.

    Whom the Hub has known lately passes, and so does, to be refused, who brings nothing to ask the Hub about. Of
    everybody else an address has so many tries.
    """
    auth = handler.auth
    if auth.has_known(handler) or not auth.must_ask(handler):
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


def address(handler: HubHandler) -> str:
    """From where a request comes, as far as that can be told."""
    # tornado shows what a client may have written itself; underneath it knows the connection's other end.
    context = getattr(handler.request.connection, "context", None)
    peer = str(getattr(context, "_orig_remote_ip", ""))
    return address_of(handler.request.headers.get_list("X-Forwarded-For"), peer)


class Home(HubHandler):
    """The address that the Hub links to: on to the user's Lab."""

    def initialize(self, *, auth: Auth, limits: Limits) -> None:  # type: ignore[override]  # as the routing rule says
        """Called by tornado with what the routing table says."""
        super().initialize(auth=auth)
        self._limits = limits

    async def get(self) -> None:
        """Redirect, by way of a login if need be."""
        try:
            await log_in(self, self._limits)
        except Refused as refused:
            if refused.code == "unauthorized":
                self.redirect(self.get_login_url())
                return
            raise HTTPError(_STATUS.get(refused.code, 403), refused.detail) from None
        self.redirect(self.auth.lab_url)


_STATUS = {"unavailable": 503, "too_many": 429}
