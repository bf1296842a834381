"""What an issuer of OpenID Connect says: of itself, in ID tokens, and on its page of a user (userinfo)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from hai_hub.logins.careful_http import ProviderRefused, placed
from hai_hub.logins.id_tokens import IdTokens, WrongToken
from hai_hub.logins.questions import Away

#: Seconds for which what the issuer says of itself is believed.
_BELIEVED_S: Final = 3600.0
_WELL_KNOWN: Final = "/.well-known/openid-configuration"
FIELD: Final = "logins.oidc.issuer"

#: Sends a request, as oauthenticator's `httpfetch` does. Raises ProviderRefused or Away.
Fetch = Callable[..., Awaitable[Any]]


class Issuer:
    """One issuer, as one client sees it.

    Args:
        address: Its address, as it writes it itself.
        client_id: Whom its ID tokens are for.
        fetch: Sends a request to it.
    """

    def __init__(self, address: str, client_id: str, fetch: Fetch) -> None:
        self.address, self._client_id, self._fetch = address, client_id, fetch
        self.places: dict[str, Any] = {}
        self._found_at = -_BELIEVED_S
        self._finding = asyncio.Lock()
        self._id_tokens = IdTokens(self._keys)

    async def find(self) -> None:
        """Learn its addresses, if they are not known. Raises Away."""
        async with self._finding:
            if not self.places or time.monotonic() - self._found_at >= _BELIEVED_S:
                self.places = await self._own_words()
                self._found_at = time.monotonic()

    async def _own_words(self) -> dict[str, Any]:
        url = f"{self.address.rstrip('/')}{_WELL_KNOWN}"
        try:
            found = await self._fetch(url)
        except ProviderRefused as refused:
            place = placed(FIELD, url)
            raise Away(f"{place} is not there ({refused}): write the issuer as the provider shows it.") from None
        named = found.get("issuer") if isinstance(found, dict) else None
        if named != self.address:
            raise Away(f"{FIELD}: is {self.address!r}, and the provider there is {str(named)[:200]!a}: write that.")
        for key in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            if not self._is_safe(found.get(key)):
                raise self.wrong(f"names no {key} by https: is it a provider of OpenID Connect?")
        if found.get("userinfo_endpoint") and not self._is_safe(found["userinfo_endpoint"]):
            raise self.wrong("names a userinfo_endpoint that is not by https.")
        return dict(found)

    def _is_safe(self, url: object) -> bool:
        """Whether secrets may be sent there: by https, unless the issuer itself is not, as in tests."""
        return isinstance(url, str) and (url.startswith("https://") or not self.address.startswith("https://"))

    def wrong(self, what: str) -> Away:
        """Return the error of an issuer that answers as it should not."""
        return Away(f"{FIELD}: {self.address} {what}")

    async def _keys(self) -> Any:
        return await self._fetch(self.places["jwks_uri"])

    async def told(self, token: object) -> dict[str, Any]:
        """Return the claims of an ID token. Raises Away or ProviderRefused."""
        if not isinstance(token, str):
            raise Away(f"logins.oidc.scopes: {self.address} sends no ID token: ask for the scope `openid`.")
        try:
            return await self._id_tokens.claims(token, issuer=self.address, audience=self._client_id)
        except WrongToken as wrong:
            raise self.wrong(f"sends an ID token that is refused: {wrong}.") from None

    async def page(self, headers: dict[str, str], account: str) -> dict[str, Any]:
        """Return the claims that it has of a user now; none if it has no such page. Raises ProviderRefused or Away.

        Args:
            headers: With the user's access token.
            account: The `sub` that the user's ID token had.
        """
        url = self.places.get("userinfo_endpoint")
        if not url:
            return {}
        found = await self._fetch(url, method="GET", headers=headers)
        if not isinstance(found, dict) or found.get("sub") != account:
            raise self.wrong("answers with the claims of another account: they are not used.")
        return found
