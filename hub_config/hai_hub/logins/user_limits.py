"""Limit what one user may ask of the Hub: requests, as they share the Hub's one process, and tokens, which stay.

JupyterHub has a setting for neither. Services, and who may change users (`admin:users`), are not limited.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final

from jupyterhub import orm
from jupyterhub.apihandlers.users import UserTokenListAPIHandler
from jupyterhub.handlers.base import BaseHandler
from jupyterhub.user import User

from hai_hub.logins.login_guard import too_many

#: Requests of one user that only read: how many a second, and how many at first.
RATE: Final = 20.0
BURST: Final = 200.0
#: A request that changes something counts as this number of them: the Hub waits for the disk with each.
CHANGE: Final = 10.0
#: Most tokens of one user that were asked for by name, and are still good.
MOST_TOKENS: Final = 100
#: Most users that are remembered; beyond that the one with the oldest request is forgotten.
_MOST_USERS: Final = 10_000
_READS: Final = ("GET", "HEAD", "OPTIONS")
#: The client that tokens belong to which were asked for; all others were made in logins to servers and services.
_ASKED_FOR: Final = "jupyterhub"

_asks_for_token: ContextVar[bool] = ContextVar("_asks_for_token", default=False)
_prepare = BaseHandler.prepare
_post_token = UserTokenListAPIHandler.post
_new_token = orm.User.new_api_token


class UserRates:
    """How far each user is ahead of their rate.

    Args:
        clock: Returns monotonic time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        #: By user, when a whole burst is free again; who asked last comes last.
        self._free_at: OrderedDict[str, float] = OrderedDict()

    def wait_s(self, user: str, cost: float) -> int:
        """Count a request of a user. Returns 0, or in how many seconds it may come again: then it does not count."""
        now = self._clock()
        free_at = max(now, self._free_at.pop(user, now))
        wait_s = free_at + cost / RATE - BURST / RATE - now
        self._free_at[user] = free_at if wait_s > 0 else free_at + cost / RATE
        while len(self._free_at) > _MOST_USERS:
            self._free_at.popitem(last=False)
        return math.ceil(wait_s) if wait_s > 0 else 0


def limit_users(rates: UserRates) -> None:
    """Let this Hub process limit each user's requests and tokens."""

    def count(handler: Any) -> None:
        user = handler.current_user
        if not isinstance(user, User) or "admin:users" in handler.expanded_scopes:
            return
        wait_s = rates.wait_s(user.name, 1.0 if handler.request.method in _READS else CHANGE)
        if wait_s:
            raise too_many(f"You ask more of the Hub than one user may: try again in {wait_s} s", wait_s)

    async def prepare(self: Any) -> None:
        await _prepare(self)
        count(self)

    async def post(self: Any, user_name: str) -> None:
        known = self.current_user is not None
        mark = _asks_for_token.set(True)
        try:
            await _post_token(self, user_name)
        finally:
            _asks_for_token.reset(mark)
        if not known:
            # Name and password came with the request. What was made is the user's, who waits with the next one.
            rates.wait_s(self.current_user.name, CHANGE)

    def new_api_token(self: Any, token: str | None = None, **fields: Any) -> Any:
        if _asks_for_token.get() and tokens_of(self) >= MOST_TOKENS:
            # JupyterHub answers 400 with the text of a ValueError.
            raise ValueError(
                f"{self.name} has {MOST_TOKENS} tokens, which is the most: revoke some on the Hub's page /hub/token, "
                "or ask for tokens that expire"
            )
        return _new_token(self, token, **fields)

    BaseHandler.prepare = prepare
    UserTokenListAPIHandler.post = post
    orm.User.new_api_token = new_api_token


def tokens_of(user: orm.User) -> int:
    """Return how many good tokens a user has that were asked for."""
    now = orm.APIToken.now()
    return sum(
        token.client_id == _ASKED_FOR and (token.expires_at is None or token.expires_at > now)
        for token in user.api_tokens
    )
