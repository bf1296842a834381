"""Who asks: users and services by the Hub's tokens and cookies, runs by their own tokens.

The Hub is asked once for a token and its answer kept for some seconds. A cookie counts only with the XSRF proof
that JupyterHub demands of browsers; a token needs none. Nothing here ever raises a token into a log or an error.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections import OrderedDict, defaultdict
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from jupyterhub.httpclient import JupyterHubHTTPClient
from jupyterhub.services.auth import HubOAuth, HubOAuthCallbackHandler
from tornado.web import HTTPError, RequestHandler

from hai_client.secret_files import secret_of
from hai_scheduler.api.server.problems import Refused, unauthorized
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.ports.secret import Secret
from hai_scheduler.ports.store import Store
from hai_scheduler.ports.values import UserRecord
from hai_scheduler.service.launch.run_tokens import RunTokens
from hai_scheduler.service.shared.caller import SCOPE_ADMIN, SCOPE_OWNERS, SCOPE_PLACES, SCOPE_READ, SCOPE_WRITE, Caller

if TYPE_CHECKING:

    class _HubOAuthenticated:
        """What of JupyterHub's mixin is used."""

        hub_auth: Any

        def get_login_url(self) -> str: ...

        def check_xsrf_cookie(self) -> None: ...

else:
    from jupyterhub.services.auth import HubOAuthenticated as _HubOAuthenticated

#: How long the Hub's answer about a token is believed, in seconds: what a revoked token outlives its end by.
BELIEVED: Final = 10
#: How long the Hub may take to answer, in seconds.
PATIENCE: Final = 15
#: Tokens that are remembered as known to the Hub: their owners need not compete with those who guess.
MOST_KNOWN: Final = 10_000

_HEADER: Final = re.compile(r"(?:bearer|token) +([\x21-\x7e]{1,1024})", re.IGNORECASE)
_UNKNOWN: Final = "The Hub does not know this token, or it has expired: get another one (`hai login`)."
_SIGN_IN: Final = (
    "Send `Authorization: Bearer <token>` with a token of the Hub, or sign in; "
    "a page in a browser sends its _xsrf cookie as X-XSRFToken too."
)

#: A scope is also had with any of these; the Hub says so too, in its own time.
_IMPLIED_BY: Final[Mapping[str, frozenset[str]]] = {
    SCOPE_READ: frozenset({SCOPE_READ, SCOPE_WRITE, SCOPE_ADMIN}),
    SCOPE_WRITE: frozenset({SCOPE_WRITE, SCOPE_ADMIN}),
    SCOPE_PLACES: frozenset({SCOPE_PLACES, SCOPE_ADMIN}),
    SCOPE_OWNERS: frozenset({SCOPE_OWNERS, SCOPE_ADMIN}),
}
#: What is had for everybody or not at all: with a filter it is none of ours.
_UNFILTERED: Final = (SCOPE_ADMIN, SCOPE_PLACES, SCOPE_OWNERS)


def has_scope(caller: Caller, scope: str) -> bool:
    """Whether the caller's token carries the scope, or one that contains it."""
    return not caller.scopes.isdisjoint(_IMPLIED_BY.get(scope, frozenset({scope})))


class Auth:
    """Tells who asks."""

    def __init__(self, hub: HubOAuth, *, run_tokens: RunTokens, cookie_secret: Secret) -> None:
        self.hub = hub
        self.cookie_secret = cookie_secret
        self._run_tokens = run_tokens
        #: Digests of tokens that the Hub has known lately, the latest last.
        self._known: OrderedDict[str, None] = OrderedDict()
        #: What the Hub is being asked now, by the digest of the token.
        self._asked: dict[str, asyncio.Future[Mapping[str, Any] | None]] = {}

    @classmethod
    def from_environment(cls, *, run_tokens: RunTokens, cookie_secret: Secret) -> Auth:
        """As JupyterHub's environment variables say; JUPYTERHUB_API_TOKEN_FILE may name a file with the token.

        `cookie_secret` should outlive restarts, or logins do not. Raises Invalid if the file cannot be read.
        """
        token = secret_of("JUPYTERHUB_API_TOKEN", os.environ)
        hub = HubOAuth(cache_max_age=BELIEVED, **({"api_token": token} if token else {}))
        return cls(hub, run_tokens=run_tokens, cookie_secret=cookie_secret)

    @property
    def lab_url(self) -> str:
        """Where a user's own JupyterLab is; it is started there if it does not run."""
        return f"{self.hub.hub_host}{self.hub.hub_prefix}user-redirect/lab"

    async def caller(self, handler: HubHandler) -> Caller:
        """The user or service of the request. Raises Refused: 401, 403 or 503."""
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
        """Whether the Hub has known the request's token when it was last asked. Raises Refused: 401."""
        token = _token(handler)
        return token is not None and _digest(token) in self._known

    def must_ask(self, handler: HubHandler) -> bool:
        """Whether the request brings a token, or a cookie of ours, about which the Hub can be asked."""
        return bool(self.hub.get_token(handler))

    def run(self, handler: HubHandler) -> RunId:
        """The run that the request speaks for. Raises Refused."""
        token = _token(handler)
        run_id = self._run_tokens.check(token) if token and token.startswith("run:") else None
        if run_id is None:
            raise unauthorized("This needs the token of the run, which its ranks find in HAI_TOKEN_FILE.")
        return run_id

    async def again(self, handler: HubHandler) -> Caller:
        """Who sent a request that is still being answered, asked anew. Raises Refused: 401, 403 or 503."""
        # JupyterHub keeps what it found out on the handler, for as long as that lives.
        handler.__dict__.pop("_cached_hub_user", None)
        return await self.caller(handler)

    async def _ask(self, handler: HubHandler, token: str | None) -> Mapping[str, Any] | None:
        try:
            async with asyncio.timeout(PATIENCE):
                # Who sends a token means it: a cookie that comes along with a bad one does not count instead.
                asked = self.hub.get_user(handler, sync=False) if token is None else self._of_token(token)
                model: Mapping[str, Any] | None = await asked
                return model
        except (HTTPError, TimeoutError, OSError):
            raise Refused("unavailable", "The Hub cannot say who you are now: try again in a moment.") from None

    async def _of_token(self, token: str) -> Mapping[str, Any] | None:
        """Whose token it is. However many requests bring it at once, the Hub is asked one time."""
        name = _digest(token)
        asked = self._asked.get(name)
        if asked is None:
            asked = asyncio.ensure_future(self.hub.user_for_token(token, sync=False))
            self._asked[name] = asked
            asked.add_done_callback(partial(self._answered, name))
        # One who gives up must not take the answer from the others.
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
        """Let go of the connections to the Hub."""
        await JupyterHubHTTPClient.loop_instance().close()


class HubHandler(_HubOAuthenticated, RequestHandler):
    """A request whose cookies are JupyterHub's."""

    auth: Auth

    def initialize(self, *, auth: Auth, **_: Any) -> None:
        """Called by tornado with what the routing table says."""
        self.auth = auth
        self.hub_auth = auth.hub

    def get_current_user(self) -> None:
        """Nobody: who asks is found out once, by `Auth`, and never by a call that blocks the loop."""
        return

    def set_default_headers(self) -> None:
        """Nothing of this service is a page: nothing may be framed, guessed or kept."""
        set_security_headers(self)


def set_security_headers(handler: RequestHandler) -> None:
    """The same headers on every answer."""
    handler.clear_header("Server")
    handler.set_header("Cache-Control", "no-store")
    handler.set_header("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
    handler.set_header("Referrer-Policy", "no-referrer")
    handler.set_header("X-Content-Type-Options", "nosniff")


class Callback(HubOAuthCallbackHandler):
    """The end of a login at the Hub."""

    def initialize(self, *, auth: Auth) -> None:
        """Called by tornado with what the routing table says."""
        self.hub_auth = auth.hub

    def set_default_headers(self) -> None:
        """As everywhere."""
        set_security_headers(self)


class UserBook:
    """Keeps the store's record of users' groups up to date: quota of groups counts by it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._written: dict[str, frozenset[str]] = {}
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def see(self, caller: Caller) -> None:
        """Write the groups of a user if they are not the ones last written."""
        if caller.kind != "user" or self._written.get(caller.name) == caller.groups:
            return
        # Many requests of a new user come at once: one of them writes.
        async with self._turns[caller.name]:
            if self._written.get(caller.name) == caller.groups:
                return
            async with self._store.write() as tx:
                await tx.put_user(UserRecord(name=caller.name, groups=caller.groups))
            self._written[caller.name] = caller.groups


def caller_of(model: Mapping[str, Any]) -> Caller:
    """The caller that a user model of the Hub describes.

    A scope that is filtered to the caller himself counts as his; any other filter makes it a scope that is not ours.
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
    """What stands for a token in memory."""
    return hashlib.sha256(token.encode()).hexdigest()


def _token(handler: RequestHandler) -> str | None:
    """The token in the Authorization header; None if there is no such header. Raises Refused if it is malformed."""
    header = handler.request.headers.get("Authorization")
    if header is None:
        return None
    match = _HEADER.fullmatch(header.strip())
    if match is None:
        raise unauthorized("The Authorization header is malformed: write `Bearer` and the token after it.")
    return match.group(1)
