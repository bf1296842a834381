"""Ask the Hub which users it knows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping
from typing import Any, Final
from urllib.parse import quote

from jupyterhub.services.auth import HubOAuth
from tornado.web import HTTPError

#: Longest time for an answer, seconds.
_PATIENCE: Final = 15
#: Users in one answer of the Hub, and names that are asked for one by one; for more than these, all are asked for.
_AT_ONCE: Final = 200
_FEW: Final = 20
#: Seconds for which the list of all users is kept.
_KEPT_FOR: Final = 5.0


class HubUsers:
    """The users whom the Hub knows.

    Args:
        hub: The connection to the Hub. The service's token must be able to list users and their groups.
    """

    def __init__(self, hub: HubOAuth) -> None:
        self._hub = hub
        self._all: Mapping[str, frozenset[str]] = {}
        self._until = 0.0

    async def __call__(self, names: Collection[str] | None) -> Mapping[str, frozenset[str]]:
        """Return the groups of users by their names; None: of all users.

        Users whom the Hub does not know are left out. There are none if the Hub does not answer.
        """
        try:
            async with asyncio.timeout(_PATIENCE):
                if names is not None and len(names) <= _FEW:
                    asked = [await self._listed(f"&name_filter={quote(name, safe='')}", name) for name in sorted(names)]
                    return {name: users[name] for users in asked for name in users if name in names}
                everybody = await self._everybody()
                return everybody if names is None else {name: everybody[name] for name in names if name in everybody}
        except (HTTPError, TimeoutError, OSError, ValueError, TypeError, KeyError):
            return {}

    async def _everybody(self) -> Mapping[str, frozenset[str]]:
        if time.monotonic() >= self._until:
            self._all = await self._listed()
            self._until = time.monotonic() + _KEPT_FOR
        return self._all

    async def _listed(self, query: str = "", wanted: str | None = None) -> dict[str, frozenset[str]]:
        """Return the users of a list, page by page, up to the one that is wanted.

        One user alone is not asked for: the Hub's client takes its 404 for trouble, and logs it.
        """
        found: dict[str, frozenset[str]] = {}
        while wanted not in found:
            url = f"{self._hub.api_url}/users?offset={len(found)}&limit={_AT_ONCE}{query}"
            page = await self._hub._api_request("GET", url, allow_403=True)
            before = len(found)
            found.update(_pair(one) for one in page or ())
            if not page or len(page) < _AT_ONCE or len(found) == before:
                break
        return found


def _pair(user: Mapping[str, Any]) -> tuple[str, frozenset[str]]:
    return str(user["name"]), frozenset(map(str, user.get("groups") or ()))
