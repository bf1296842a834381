"""The steps of a browser that signs in by OpenID Connect, for an authenticator without a Hub."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from oauthenticator.oauth2 import _serialize_state

from kit.logins.provider import Provider

CALLBACK = "https://hub.example.org/hub/oauth_callback"
VERIFIER = "v" * 43
#: What S256 of RFC 7636 makes of it.
CHALLENGE = "7w_YNF9DSfIdPf_pRjSq646_kPr-2-o9NAl16JGghdM"


class Visit:
    """The request that comes back from the provider. `users` are those whom the Hub knows, by name."""

    def __init__(self, provider: Provider, name: str, users: dict[str, Any] | None = None) -> None:
        provider.signs_in = name
        self._code = provider.authorized(CHALLENGE, CALLBACK)
        self._users = users or {}
        self.request = SimpleNamespace(protocol="https", host="hub.example.org")
        self.hub = SimpleNamespace(server=SimpleNamespace(base_url="/hub/"))

    def get_argument(self, _name: str) -> str:
        return self._code

    def get_state_cookie(self) -> str:
        return str(_serialize_state({"code_verifier": VERIFIER}))

    def find_user(self, name: str) -> Any:
        return self._users.get(name)
