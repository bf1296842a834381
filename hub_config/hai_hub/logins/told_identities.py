"""Tell the scheduler service who a user's processes are, each time a login or its renewal says it.

The service never reads the state of a login, in which are the user's tokens at the provider.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from jupyterhub.handlers.base import BaseHandler
from jupyterhub.user import User

from hai_hub.logins.archived_users import NO_ANSWER, service_token, session_at
from hai_hub.logins.identity_claims import IdentityClaims, WrongClaim

log = logging.getLogger("hai_hub")

#: Seconds that the service may take: a user waits for the page.
_PATIENCE_S: Final = 5.0

#: Tells the account of a user; None: there is none. The arguments: the service's token, the user's name, the account.
#: Raises one of `NO_ANSWER`.
Tell = Callable[[str, str, Mapping[str, Any] | None], Awaitable[None]]


def telling(api_url: str) -> Tell:
    """Return what tells the scheduler service.

    Args:
        api_url: Base of the scheduler's REST interface as the Hub reaches it.
    """

    async def tell(token: str, user: str, account: Mapping[str, Any] | None) -> None:
        place = f"users/{quote(user, safe='')}/identity"
        async with (
            session_at(api_url, token, _PATIENCE_S) as session,
            session.request(
                "DELETE" if account is None else "PUT", place, json=account, allow_redirects=False
            ) as answer,
        ):
            if answer.status != 204:
                raise ValueError(f"status {answer.status}")

    return tell


class ToldIdentities:
    """What the service was told, so that it is told again only what is new."""

    def __init__(self, claims: IdentityClaims, tell: Tell) -> None:
        self._claims = claims
        self._tell = tell
        self._told: dict[str, str] = {}

    async def hear(self, token: str, user: str, state: Any, groups: Sequence[str]) -> None:
        """Tell the service what a login says of a user; without an answer the next login or renewal tries again.

        Args:
            token: The service's token.
            user: The user's name at the Hub.
            state: The `auth_state`; None: the login, or its renewal, has read nothing.
            groups: The user's groups at the Hub.
        """
        if not isinstance(state, Mapping):
            return
        account = None
        try:
            account = self._claims.account(state, groups)
        except WrongClaim as error:
            log.warning("The login of %s tells no account: %s", user, error)
        said = json.dumps(account, sort_keys=True)
        if self._told.get(user) == said:
            return
        try:
            await self._tell(token, user, account)
        except NO_ANSWER as error:
            log.warning("Who %s is could not be told to the scheduler: %s", user, error or type(error).__name__)
            return
        self._told[user] = said


_auth_to_user = BaseHandler.auth_to_user
_save_auth_state = User.save_auth_state


def tell_identities(told: ToldIdentities) -> None:
    """Let this Hub process tell the service of each login and each renewal, whatever its authenticator is."""

    async def auth_to_user(self: Any, authenticated: Any, user: Any = None) -> Any:
        found = await _auth_to_user(self, authenticated, user)
        if isinstance(authenticated, Mapping):
            # Also where the Hub stores no state.
            await told.hear(service_token(self), found.name, authenticated.get("auth_state"), _groups_of(found))
        return found

    async def save_auth_state(self: Any, auth_state: Any) -> None:
        await _save_auth_state(self, auth_state)
        await told.hear(service_token(self), self.name, auth_state, _groups_of(self))

    BaseHandler.auth_to_user = auth_to_user
    User.save_auth_state = save_auth_state


def _groups_of(user: Any) -> list[str]:
    return [str(group.name) for group in user.groups]
