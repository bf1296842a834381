"""Ask the Hub for its user groups, and who is in them."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

from jupyterhub.services.auth import HubOAuth
from tornado.web import HTTPError

#: Longest time for an answer, seconds.
_PATIENCE: Final = 15
#: Groups in one answer: the Hub answers nobody else while it reads who is in them.
_AT_ONCE: Final = 50
#: With this the Hub says how many groups there are in all.
_PAGES: Final = {"Accept": "application/jupyterhub-pagination+json"}
_NO_ANSWER: Final = (HTTPError, TimeoutError, OSError, ValueError, TypeError, KeyError)


class HubGroups:
    """The user groups of the Hub.

    Args:
        hub: The connection to the Hub. The service's token must be able to list groups, and to read who is in them.
    """

    def __init__(self, hub: HubOAuth) -> None:
        self._hub = hub

    async def names(self) -> frozenset[str] | None:
        """Return the names of all groups; None: the Hub cannot say them now, or not to this service."""
        groups = await self._listed()
        return None if groups is None else frozenset(groups)

    async def of_users(self) -> Mapping[str, frozenset[str]] | None:
        """Return the groups of all users who are in one; None: the Hub cannot say them now, or not to this service."""
        groups = await self._listed()
        if groups is None or None in groups.values():
            return None
        found: defaultdict[str, set[str]] = defaultdict(set)
        for group, users in groups.items():
            for user in users or ():
                found[user].add(group)
        return {user: frozenset(names) for user, names in found.items()}

    async def _listed(self) -> dict[str, list[str] | None] | None:
        """Return the members of each group; None in place of members that this service may not read.

        A group that is deleted meanwhile moves the others to an earlier page: then the number of groups is not that of
        the last answer, and nothing is believed.
        """
        found: dict[str, list[str] | None] = {}
        try:
            async with asyncio.timeout(_PATIENCE):
                while True:
                    url = f"{self._hub.api_url}/groups?offset={len(found)}&limit={_AT_ONCE}"
                    page = await self._hub._api_request("GET", url, allow_403=True, headers=dict(_PAGES))
                    if page is None:
                        return None
                    before = len(found)
                    found.update(map(_pair, page["items"]))
                    total = int(page["_pagination"]["total"])
                    if len(found) >= total or len(found) == before:
                        return found if len(found) == total else None
        except _NO_ANSWER:
            return None


def _pair(group: Mapping[str, Any]) -> tuple[str, list[str] | None]:
    users = group.get("users")
    return str(group["name"]), None if users is None else [str(name) for name in users]
