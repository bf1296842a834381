"""Authentication: users and services by the Hub's tokens and cookies, runs by their own tokens.

The Hub is asked once about a token, and its answer is kept for some seconds. A cookie counts only with the XSRF proof
that JupyterHub demands of browsers; a token needs none. A request about which the Hub must be asked counts for the
address that it comes from. No token is ever written to a log or an error.
"""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import os
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from jupyterhub.httpclient import JupyterHubHTTPClient
from jupyterhub.services.auth import HubOAuth, HubOAuthCallbackHandler
from tornado.web import HTTPError, RequestHandler

from hai_client.secret_files import secret_of
from hai_client.version import VERSION_HEADER
from hai_scheduler import __version__
from hai_scheduler.api.server.hub_groups import HubGroups
from hai_scheduler.api.server.hub_users import HubUsers
from hai_scheduler.api.server.kinds import Kind
from hai_scheduler.api.server.limits import Limits
from hai_scheduler.api.server.problems import DISK_FULL, Refused, unauthorized
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.ports.secret import Secret
from hai_scheduler.service.launch.run_tokens import RunTokens
from hai_scheduler.service.shared.caller import (
    SCOPE_ACTIVE_USERS,
    SCOPE_ADMIN,
    SCOPE_ARCHIVE,
    SCOPE_CONTAINERS,
    SCOPE_IDENTITIES,
    SCOPE_READ,
    SCOPE_WRITE,
    Caller,
)

if TYPE_CHECKING:

    class _HubOAuthenticated:
        """The attributes of JupyterHub's mixin that are used here."""

        hub_auth: Any

        def get_login_url(self) -> str: ...

        def check_xsrf_cookie(self) -> None: ...

else:
    from jupyterhub.services.auth import HubOAuthenticated as _HubOAuthenticated

#: For which requests browsers send this service's cookies: not for those that other sites make, but for links here.
COOKIES: Final = {"samesite": "Lax"}
#: How long the Hub's answer about a token is kept, in seconds: so long a revoked token still works at most.
BELIEVED: Final = 10
#: How long the Hub may take to answer, in seconds.
PATIENCE: Final = 15
#: Number of tokens that are remembered as known to the Hub. Their owners need not compete with clients that guess.
MOST_KNOWN: Final = 10_000

_HEADER: Final = re.compile(r"(?:bearer|token) +([\x21-\x7e]{1,1024})", re.IGNORECASE)
_UNKNOWN: Final = "The Hub does not know this token, or it has expired: get another one (`hai login`)."
_HUB_AWAY: Final = "The Hub cannot say who you are now: try again in a moment."
_SIGN_IN: Final = (
    "Send `Authorization: Bearer <token>` with a token of the Hub, or sign in; "
    "a page in a browser sends its _xsrf cookie as X-XSRFToken too."
)

#: A token with any of these scopes has the scope too. The Hub adds implied scopes itself, though not at once.
_IMPLIED_BY: Final[Mapping[str, frozenset[str]]] = {
    SCOPE_READ: frozenset({SCOPE_READ, SCOPE_WRITE, SCOPE_ADMIN}),
    SCOPE_WRITE: frozenset({SCOPE_WRITE, SCOPE_ADMIN}),
    SCOPE_CONTAINERS: frozenset({SCOPE_CONTAINERS, SCOPE_ADMIN}),
    SCOPE_ACTIVE_USERS: frozenset({SCOPE_ACTIVE_USERS, SCOPE_ADMIN}),
    SCOPE_ARCHIVE: frozenset({SCOPE_ARCHIVE, SCOPE_ADMIN}),
}
#: Scopes that are ignored when JupyterHub narrows them with a filter (`scope!user=...`).
_UNFILTERED: Final = (SCOPE_ADMIN, SCOPE_ARCHIVE, SCOPE_CONTAINERS, SCOPE_ACTIVE_USERS, SCOPE_IDENTITIES)


def has_scope(caller: Caller, scope: str) -> bool:
    """Whether the caller's token carries the scope, or one that contains it."""
    return not caller.scopes.isdisjoint(_IMPLIED_BY.get(scope, frozenset({scope})))


class Auth:
    """Finds out which user, service or run sends a request."""

    def __init__(
        self,
        hub: HubOAuth,
        *,
        run_tokens: RunTokens,
        cookie_secret: Secret,
        disk_full: Callable[[], bool] = lambda: False,
    ) -> None:
        self.hub = hub
        self._disk_full = disk_full
        hub.cookie_options = COOKIES | hub.cookie_options
        #: Asks the Hub which users it knows.
        self.users = HubUsers(hub)
        #: Asks the Hub for its user groups.
        self.groups = HubGroups(hub)
        self.cookie_secret = cookie_secret
        self._run_tokens = run_tokens
        #: Digests of tokens that the Hub has known lately, the latest last.
        self._known: OrderedDict[str, None] = OrderedDict()
        #: Requests to the Hub that are under way, by the digest of the token.
        self._asked: dict[str, asyncio.Future[Mapping[str, Any] | None]] = {}

    @classmethod
    def from_environment(
        cls, *, run_tokens: RunTokens, cookie_secret: Secret, disk_full: Callable[[], bool] = lambda: False
    ) -> Auth:
        """Create it from JupyterHub's environment variables; JUPYTERHUB_API_TOKEN_FILE may name a file with the token.

        Logins outlive a restart only if `cookie_secret` does. Raises Invalid if the file cannot be read.
        """
        token = secret_of("JUPYTERHUB_API_TOKEN", os.environ)
        hub = HubOAuth(cache_max_age=BELIEVED, **({"api_token": token} if token else {}))
        return cls(hub, run_tokens=run_tokens, cookie_secret=cookie_secret, disk_full=disk_full)

    @property
    def lab_url(self) -> str:
        """URL of the user's own JupyterLab, which the Hub starts there if it does not run."""
        return f"{self.hub.hub_host}{self.hub.hub_prefix}user-redirect/lab"

    async def caller(self, handler: HubHandler) -> Caller:
        """Return the user or service that sends the request. Raises Refused: 401, 403 or 503."""
        token = _token(handler)
        if token is not None and token.startswith("run:"):
            raise unauthorized("A run's token is good for what that run's ranks ask and report only.")
        model = await self._ask(handler, token)
        if model is None:
            raise unauthorized(_UNKNOWN if token else _SIGN_IN)
        if not self.hub.check_scopes(self.hub.access_scopes, model):
            raise Refused("forbidden", "This token may not use HAI: it needs the scope access:services!service=hai.")
        return caller_of(model)

    def has_known(self, handler: HubHandler) -> bool:
        """Whether the Hub knew the request's token when it was last asked about it. Raises Refused: 401."""
        token = _token(handler)
        return token is not None and _digest(token) in self._known

    def must_ask(self, handler: HubHandler) -> bool:
        """Whether the request carries a token, or a cookie of this service, about which the Hub can be asked."""
        return bool(self.hub.get_token(handler))

    def run(self, handler: HubHandler) -> RunId:
        """Return the run whose token the request carries. Raises Refused: 401."""
        token = _token(handler)
        run_id = self._run_tokens.check(token) if token and token.startswith("run:") else None
        if run_id is None:
            raise unauthorized("This needs the token of the run, which its ranks find in HAI_TOKEN_FILE.")
        return run_id

    async def again(self, handler: HubHandler) -> Caller:
        """Ask again who sent a request that is still being answered. Raises Refused: 401, 403 or 503."""
        # JupyterHub caches the user on the handler for as long as the handler lives.
        handler.__dict__.pop("_cached_hub_user", None)
        return await self.caller(handler)

    async def _ask(self, handler: HubHandler, token: str | None) -> Mapping[str, Any] | None:
        try:
            async with asyncio.timeout(PATIENCE):
                # If there is a token, only the token counts: a cookie sent with a bad token does not replace it.
                asked = self.hub.get_user(handler, sync=False) if token is None else self._of_token(token)
                model: Mapping[str, Any] | None = await asked
                return model
        except (HTTPError, TimeoutError, OSError):
            raise Refused("unavailable", DISK_FULL if self._disk_full() else _HUB_AWAY) from None

    async def _of_token(self, token: str) -> Mapping[str, Any] | None:
        """Return the Hub's model of the token's owner. Requests that bring it at the same time share one question."""
        name = _digest(token)
        asked = self._asked.get(name)
        if asked is None:
            asked = asyncio.ensure_future(self.hub.user_for_token(token, sync=False))
            self._asked[name] = asked
            asked.add_done_callback(partial(self._answered, name))
        # A request that is cancelled must not cancel the answer for the others.
        return await asyncio.shield(asked)

    def _answered(self, name: str, asked: asyncio.Future[Mapping[str, Any] | None]) -> None:
        self._asked.pop(name, None)
        if asked.cancelled() or asked.exception() is not None:
            return
        self._known.pop(name, None)
        if asked.result() is not None:
            self._known[name] = None
            while len(self._known) > MOST_KNOWN:
                self._known.popitem(last=False)

    async def close(self) -> None:
        """Close the connections to the Hub."""
        await JupyterHubHTTPClient.loop_instance().close()


class HubHandler(_HubOAuthenticated, RequestHandler):
    """Handler of requests that are authenticated by JupyterHub's tokens and cookies."""

    auth: Auth

    def initialize(self, *, auth: Auth, **_: Any) -> None:
        """Take the arguments of the routing rule; tornado calls this."""
        self.auth = auth
        self.hub_auth = auth.hub

    def get_current_user(self) -> None:
        """Return None: `Auth` finds out once who asks, while tornado's own call would block the event loop."""
        return

    def set_default_headers(self) -> None:
        """Set the security headers: no answer of this service may be framed, sniffed or cached."""
        set_security_headers(self)


def set_security_headers(handler: RequestHandler) -> None:
    """Set the headers that every answer of the service carries."""
    handler.clear_header("Server")
    handler.set_header(VERSION_HEADER, __version__)
    handler.set_header("Cache-Control", "no-store")
    handler.set_header("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
    handler.set_header("Referrer-Policy", "no-referrer")
    handler.set_header("X-Content-Type-Options", "nosniff")


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


class Callback(HubOAuthCallbackHandler):
    """Handles the redirect that ends a login at the Hub."""

    def initialize(self, *, auth: Auth) -> None:
        """Take the arguments of the routing rule; tornado calls this."""
        self.hub_auth = auth.hub

    def set_default_headers(self) -> None:
        """Set the security headers of every answer."""
        set_security_headers(self)


def caller_of(model: Mapping[str, Any]) -> Caller:
    """Return the caller that a user model of the Hub describes.

    A scope that is filtered to the caller (`scope!user=NAME`) counts as the scope; with any other filter it is ignored.
    """
    own = f"!user={model['name']}"
    given = set(map(str, model.get("scopes", ())))
    scopes = {scope.removesuffix(own) for scope in given if not scope.startswith(_UNFILTERED)}
    scopes |= given.intersection(_UNFILTERED)
    service = model.get("kind") == "service"
    return Caller(
        # A service must never be taken for the user of the same name.
        name=f"service:{model['name']}" if service else str(model["name"]),
        kind="service" if service else "user",
        groups=frozenset(map(str, model.get("groups") or ())),
        scopes=frozenset(scopes),
    )


def _digest(token: str) -> str:
    """Return the digest that stands for a token in memory."""
    return hashlib.sha256(token.encode()).hexdigest()


def _token(handler: RequestHandler) -> str | None:
    """Return the token in the Authorization header; None without the header. Raises Refused if it is malformed."""
    header = handler.request.headers.get("Authorization")
    if header is None:
        return None
    match = _HEADER.fullmatch(header.strip())
    if match is None:
        raise unauthorized("The Authorization header is malformed: write `Bearer` and the token after it.")
    return match.group(1)
