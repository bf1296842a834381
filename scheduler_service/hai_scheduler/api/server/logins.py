"""Authentication within limits: a request about which the Hub must be asked counts for the address it comes from."""

from __future__ import annotations

from tornado.web import HTTPError

from hai_scheduler.api.server.addresses import address_of
from hai_scheduler.api.server.auth import Auth, HubHandler
from hai_scheduler.api.server.kinds import Kind
from hai_scheduler.api.server.limits import Limits
from hai_scheduler.api.server.problems import Refused
from hai_scheduler.service.shared.caller import Caller


async def log_in(handler: HubHandler, limits: Limits) -> Caller:
    """Return the user or service that sends the request. Raises Refused: 401, 403, 429 or 503.

    A token that the Hub has known lately is not limited. Nor is a request without token and cookie, which is refused
    without a question to the Hub. All others count for the limit of their address (`Kind.LOGIN`).
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
    """Return the address that a request comes from, as far as it can be known."""
    # `remote_ip` may come from a header that the client has written; this is the connection's other end.
    context = getattr(handler.request.connection, "context", None)
    peer = str(getattr(context, "_orig_remote_ip", ""))
    return address_of(handler.request.headers.get_list("X-Forwarded-For"), peer)


class Home(HubHandler):
    """Handles the page that the Hub links to: it redirects to the user's JupyterLab."""

    def initialize(self, *, auth: Auth, limits: Limits) -> None:  # type: ignore[override]  # as the routing rule says
        """Take the arguments of the routing rule; tornado calls this."""
        super().initialize(auth=auth)
        self._limits = limits

    async def get(self) -> None:
        """Redirect to the user's JupyterLab, after a login if the user is not logged in."""
        try:
            await log_in(self, self._limits)
        except Refused as refused:
            if refused.code == "unauthorized":
                self.redirect(self.get_login_url())
                return
            raise HTTPError(_STATUS.get(refused.code, 403), refused.detail) from None
        self.redirect(self.auth.lab_url)


_STATUS = {"unavailable": 503, "too_many": 429}
