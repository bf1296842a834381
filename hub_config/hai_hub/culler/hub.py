"""The culler's requests to the Hub and to the scheduler service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import quote

import aiohttp

from hai_hub.culler.decision import RunningServer

_PAGE: Final = 200
_TIMEOUT: Final = aiohttp.ClientTimeout(total=60, sock_connect=10)


class Unanswered(Exception):
    """The Hub or the scheduler did not answer, or answered with an error; the text says which."""


@dataclass(slots=True)
class HubApi:
    """The Hub's REST interface with the culler's token."""

    hub: str  #: Base of the Hub's REST interface.
    scheduler: str  #: Base of the scheduler's REST interface; empty: there is no scheduler.
    token: str = field(repr=False)  #: The culler's own token.
    _session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Accept": "application/jupyterhub-pagination+json, application/json",
        }
        self._session = aiohttp.ClientSession(timeout=_TIMEOUT, headers=headers)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def servers(self) -> list[RunningServer]:
        """Return every server that runs. Raises Unanswered: the Hub's list cannot be read."""
        return [server async for server in self._servers()]

    async def _servers(self) -> AsyncIterator[RunningServer]:
        offset: int | None = 0
        while offset is not None:
            page = await self._ask("GET", f"{self.hub}/users?state=ready&offset={offset}&limit={_PAGE}")
            try:
                for user in page["items"]:
                    for entry in user["servers"].values():
                        if entry["ready"]:
                            yield server_of(user["name"], entry)
                following = page["_pagination"]["next"]
                offset = None if following is None else int(following["offset"])
            except (KeyError, TypeError, ValueError) as error:
                raise Unanswered(f"the Hub's list of users is not understood ({type(error).__name__})") from error

    async def active_users(self) -> frozenset[str]:
        """Return the names of users with live tasks. Raises Unanswered: the scheduler's list cannot be read."""
        if not self.scheduler:
            return frozenset()
        answer = await self._ask("GET", f"{self.scheduler}/active-users")
        try:
            return frozenset(map(str, answer["users"]))
        except (KeyError, TypeError) as error:
            raise Unanswered("the scheduler's list of active users is not understood") from error

    async def stop(self, server: RunningServer) -> None:
        """Stop a server; the server stays in its owner's list.

        Raises:
            Unanswered: The Hub refuses or does not answer.
        """
        path = f"servers/{quote(server.name, safe='')}" if server.name else "server"
        await self._ask("DELETE", f"{self.hub}/users/{quote(server.user, safe='@')}/{path}")

    async def _ask(self, method: str, url: str) -> Any:
        assert self._session is not None
        where = "the scheduler" if self.scheduler and url.startswith(self.scheduler) else "the Hub"
        try:
            async with self._session.request(method, url, allow_redirects=False) as answer:
                if not 200 <= answer.status < 300:
                    raise Unanswered(f"{where} answers {answer.status} to {method}")
                if method == "DELETE":
                    return None
                return await answer.json(content_type=None)
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise Unanswered(f"{where} does not answer ({type(error).__name__})") from None


def server_of(user: str, entry: Mapping[str, Any]) -> RunningServer:
    """Return a server from the Hub's JSON model of it."""
    started = _time(entry["started"])
    options = entry.get("user_options") or {}
    # A spot container, which runs on training nodes, has no size.
    size = "spot" if options.get("spot") else str(options.get("profile") or "")
    activity = entry.get("last_activity")
    return RunningServer(
        user=user,
        name=str(entry["name"]),
        size=size,
        started=started,
        last_activity=max(started, _time(activity)) if activity else started,
    )


def _time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)
