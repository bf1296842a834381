"""Keep archived users out of the Hub: no login, no session, no token at the Hub, no server.

Who is archived the scheduler service says; the Hub's own users, groups and roles stay as they are, so that a user who
is restored finds everything again. JupyterHub's `blocked_users` would need a restart, and takes the roles away.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

import aiohttp
from jupyterhub.auth import Authenticator
from jupyterhub.handlers.base import BaseHandler
from jupyterhub.user import User
from tornado.web import HTTPError

from hai_hub.config.database_errors import roll_back
from hai_hub.config.settings import SERVICE_NAME

log = logging.getLogger("hai_hub")

#: Seconds between two questions to the service: so long the sessions and servers of an archived user go on.
EVERY_S: Final = 5.0
#: A login or a start of a server asks again if the answer is older, in seconds.
_FRESH_S: Final = 1.0
#: Seconds that the service may take to answer.
_PATIENCE_S: Final = 3.0

#: Returns the names of archived users; the argument is the service's token. Raises one of `NO_ANSWER`.
Ask = Callable[[str], Awaitable[frozenset[str]]]
#: What a question to the service raises that is not answered.
NO_ANSWER: Final = (OSError, TimeoutError, ValueError, aiohttp.ClientError)


def sentence(name: str) -> str:
    """Return what an archived user is told."""
    return f"The user {name} is archived: ask an admin to restore this user (hai admin user restore {name})."


class ArchivedUsers:
    """The names of archived users, as the service last said. While it does not answer, the last answer counts."""

    def __init__(self, ask: Ask, now: Callable[[], float] = time.monotonic) -> None:
        self._ask = ask
        self._now = now
        self._asked_at: float | None = None
        self._asking = asyncio.Lock()
        self.names: frozenset[str] = frozenset()

    async def includes(self, name: str, token: str) -> bool:
        """Return whether that user is archived, by an answer of the last second if there is one."""
        async with self._asking:
            if self._asked_at is None or self._now() - self._asked_at >= _FRESH_S:
                await self.look(token)
        return name in self.names

    async def look(self, token: str) -> None:
        """Ask the service."""
        try:
            self.names = await self._ask(token)
        except NO_ANSWER as error:
            log.debug("Who is archived is not known now: %s", type(error).__name__)
        self._asked_at = self._now()


def asking(api_url: str) -> Ask:
    """Return what asks the scheduler service.

    Args:
        api_url: Base of the scheduler's REST interface as the Hub reaches it.
    """
    return lambda token: names_at(api_url, "archived-users", "names", token, _PATIENCE_S)


async def names_at(api_url: str, path: str, field: str, token: str, patience_s: float) -> frozenset[str]:
    """Return the names of users in that field of the service's answer. Raises one of `NO_ANSWER`."""
    async with (
        session_at(api_url, token, patience_s) as session,
        session.get(path, allow_redirects=False) as answer,
    ):
        if answer.status != 200:
            raise ValueError(f"status {answer.status}")
        body = await answer.json(content_type=None)
    names = body.get(field) if isinstance(body, dict) else None
    if not isinstance(names, list):
        raise ValueError(f"no {field}")
    return frozenset(map(str, names))


def session_at(api_url: str, token: str, patience_s: float) -> aiohttp.ClientSession:
    """Return a session with the scheduler service as itself; an answer may take `patience_s` seconds."""
    # A proxy of the environment must not see the token: aiohttp uses none unless trust_env is set.
    return aiohttp.ClientSession(
        f"{api_url.rstrip('/')}/",
        timeout=aiohttp.ClientTimeout(total=patience_s),
        headers={"Authorization": f"Bearer {token}", "Accept": "application/json"},
    )


_check_blocked = Authenticator.check_blocked_users
_get_current_user = BaseHandler.get_current_user
_spawn_single_user = BaseHandler.spawn_single_user


def keep_out(
    archived: ArchivedUsers, before: Callable[[str], Awaitable[None]], *beside: Callable[[Any], Awaitable[None]]
) -> None:
    """Let this Hub process refuse archived users, whatever its authenticator and spawner are.

    Args:
        archived: Who is archived.
        before: Called with the service's token, each time before the service is asked.
        beside: What else goes on from the first request until the Hub ends; called with a handler.
    """
    watching: set[asyncio.Future[None]] = set()
    token_of_service: list[str] = [""]

    async def check_blocked_users(self: Any, username: str, authentication: Any = None) -> bool:
        if await archived.includes(username, token_of_service[0]):
            raise HTTPError(403, sentence(username))
        allowed = _check_blocked(self, username, authentication)
        return bool(await allowed) if asyncio.iscoroutine(allowed) else bool(allowed)

    async def get_current_user(self: Any) -> Any:
        user = await _get_current_user(self)
        if not watching:
            token_of_service[0] = service_token(self)
            every = [_watch(archived, self, before), *(other(self) for other in beside)]
            watching.update(asyncio.ensure_future(one) for one in every)
        if isinstance(user, User) and user.name in archived.names and not _asks_who_it_is(self):
            # As if nobody had signed in: pages lead to the login, which says why; requests of programs get 403.
            self._jupyterhub_user = None
            return None
        return user

    async def spawn_single_user(self: Any, user: Any, *args: Any, **given: Any) -> Any:
        if await archived.includes(user.name, service_token(self)):
            raise HTTPError(403, sentence(user.name))
        return await _spawn_single_user(self, user, *args, **given)

    Authenticator.check_blocked_users = check_blocked_users
    BaseHandler.get_current_user = get_current_user
    BaseHandler.spawn_single_user = spawn_single_user


def service_token(handler: Any) -> str:
    """Return the token of the scheduler service, as which the Hub asks it."""
    service = handler.settings.get("services", {}).get(SERVICE_NAME)
    return "" if service is None else str(service.api_token)


def _asks_who_it_is(handler: Any) -> bool:
    """Return whether a service asks the Hub about a token. The scheduler service then refuses with its own sentence."""
    return str(handler.request.path) == f"{handler.hub.base_url}api/user"


async def _watch(archived: ArchivedUsers, handler: Any, before: Callable[[str], Awaitable[None]]) -> None:
    """Ask the service regularly, and stop the servers of archived users."""
    while True:
        try:
            await before(service_token(handler))
            await archived.look(service_token(handler))
            for name in archived.names:
                await _stop_servers(handler, name)
        except Exception as error:  # noqa: BLE001  # this must outlive any error: the next look tries again
            roll_back(handler.db, error)
            log.warning("Servers of archived users are looked for again: %s", type(error).__name__)
        await asyncio.sleep(EVERY_S)


async def _stop_servers(handler: Any, name: str) -> None:
    user = handler.find_user(name)
    if user is None:
        return
    for server, spawner in list(user.spawners.items()):
        if spawner.ready and not spawner.pending:
            log.info("Stopping server %r of %s, who is archived", server, name)
            try:
                await handler.stop_single_user(user, server)
            except Exception as error:  # noqa: BLE001  # the next look tries again
                log.warning("Server %r of %s could not be stopped: %s", server, name, type(error).__name__)
