"""Sign in by OpenID Connect: everything but the client is found out from the issuer's address."""

from __future__ import annotations

from typing import Any, Final

from oauthenticator.oauth2 import OAuthLoginHandler
from tornado.web import HTTPError
from traitlets import List, Unicode

from hai_hub.logins.careful_http import CarefulOAuth, ProviderRefused, prepared
from hai_hub.logins.in_step import ACCOUNT
from hai_hub.logins.issuer import Issuer
from hai_hub.logins.login_records import plain
from hai_hub.logins.oidc_claims import found_at, groups_at, names_in, without
from hai_hub.logins.questions import Gone

#: Whether the provider's page of a user told groups: an ID token tells those of the moment when it was made.
_FRESH: Final = "hai_groups_on_page"
_CLAIMS: Final = "claims"


class OidcLoginHandler(OAuthLoginHandler):
    """Leads to the provider's login."""

    async def get(self) -> None:
        """Find out where the provider's login is, and go there."""
        await prepared(self.authenticator)
        super().get()


class OidcAuthenticator(CarefulOAuth):
    """A client of one issuer."""

    login_handler = OidcLoginHandler
    user_auth_state_key = _CLAIMS

    issuer = Unicode(config=True, help="The issuer's address, as its own configuration names it.")
    name_claim = Unicode("preferred_username", config=True, help="Claim with the name of the user.")
    groups_claim = Unicode("groups", config=True, help="Claim with the groups; dots lead into tables.")
    name_domain = Unicode(config=True, help="Only names of this domain, which is cut off: `example.org`.")
    scope = List(Unicode(), ["openid", "profile", "email", "offline_access"], config=True, help="Scopes to ask for.")

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.address = self.issuer
        self.provider = Issuer(self.issuer, self.client_id, self.httpfetch)

    async def prepare(self) -> None:
        """Learn the provider's addresses, if they are not known. Raises Away."""
        await self.provider.find()
        self.authorize_url = self.provider.places["authorization_endpoint"]
        self.token_url = self.provider.places["token_endpoint"]

    async def authenticate(self, handler: Any, data: Any = None, **given: Any) -> dict[str, Any] | None:
        """Return the model of who signs in; see CarefulOAuth."""
        model = await super().authenticate(handler, data, **given)
        if model is not None and not model["auth_state"].get("refresh_token"):
            self.say_once(
                "refresh tokens",
                f"logins.oidc.scopes: {self.issuer} gives no refresh token, so a user's groups end with the first"
                " token: ask for offline_access, or set logins.keepGroupsSeconds",
            )
        return model

    async def token_to_user(self, token_info: dict[str, Any]) -> dict[str, Any]:
        """Return the claims of the ID token, and those of the provider's page of the user, which are newer."""
        claims = await self.provider.told(token_info.get("id_token"))
        headers = self.build_userdata_request_headers(token_info["access_token"], token_info["token_type"])
        page = await self.provider.page(headers, claims["sub"])
        return {**claims, **page, _FRESH: found_at(page, self.groups_claim) is not None}

    def build_auth_state_dict(self, token_info: dict[str, Any], user_info: dict[str, Any]) -> dict[str, Any]:
        """Return what is kept of a login, encrypted: tokens, claims, and whose account it is."""
        claims = {key: value for key, value in user_info.items() if key != _FRESH}
        state: dict[str, Any] = super().build_auth_state_dict(token_info, claims)
        return {**state, ACCOUNT: f"{self.issuer} {claims['sub']}", _FRESH: bool(user_info.get(_FRESH))}

    def user_info_to_username(self, user_info: dict[str, Any]) -> str:
        """Return the name of who signs in. Raises HTTPError (403)."""
        told = found_at(user_info, self.name_claim)
        if not isinstance(told, str) or not told:
            raise HTTPError(
                403,
                f"logins.oidc.usernameClaim: {self.issuer} says no {self.name_claim} of you; it says"
                f" {names_in(user_info)}. Ask the platform's admin to choose one of these.",
            )
        if self.name_claim == "email" and str(user_info.get("email_verified", True)).lower() == "false":
            # Anybody may write any address into an account of their own, such as an admin's.
            raise HTTPError(
                403,
                f"logins.oidc.usernameClaim: {self.issuer} has not verified that {told!a} is yours: verify it there.",
            )
        if not self.name_domain:
            return told
        name, _, domain = told.rpartition("@")
        if domain.lower() != self.name_domain.lower() or not name:
            raise HTTPError(403, f"logins.oidc.domain: {told!a} is no account of {self.name_domain}: sign in with one.")
        return name

    async def get_user_groups(self, auth_state: dict[str, Any]) -> set[str]:
        """Return the groups of the Hub; JupyterHub sorts them."""
        claims = auth_state[_CLAIMS]
        return set(self._groups(self.normalize_username(self.user_info_to_username(claims)), claims))

    def _groups(self, name: str, claims: dict[str, Any]) -> list[str]:
        told, why_none = groups_at(claims, self.groups_claim, self.issuer)
        sentence = f"logins.oidc.groupsClaim: {plain(name)} has no groups: {why_none}" if why_none else ""
        self.say_once(f"claim of {name}", sentence)
        return self.mapped(name, told)

    async def ask_again(self, name: str, state: dict[str, Any]) -> dict[str, Any]:
        """Return what the provider says now: by its page of the user, or by a new ID token. See InStep."""
        await self.prepare()
        tokens = state.get("token_response") or {}
        claims = await self._claims_again(tokens, state) if tokens and state.get(_FRESH) else None
        if claims is None:
            tokens = await self.renewed(tokens)
            try:
                claims = await self.token_to_user(tokens)
            except ProviderRefused as refused:
                raise self.provider.wrong(f"refuses a token that it has just made ({refused}).") from None
        new = self.build_auth_state_dict(tokens, claims)
        if new[ACCOUNT] != state.get(ACCOUNT):
            raise Gone("the provider answers with another account")
        groups = self._groups(name, new[_CLAIMS])
        return {"name": name, "admin": name in self.admin_users or None, "auth_state": new, "groups": groups}

    async def _claims_again(self, tokens: dict[str, Any], state: dict[str, Any]) -> dict[str, Any] | None:
        """Return the claims by the provider's page of the user; None: the token has expired."""
        headers = self.build_userdata_request_headers(tokens["access_token"], tokens["token_type"])
        known = state[_CLAIMS]
        try:
            page = await self.provider.page(headers, known["sub"])
        except ProviderRefused as refused:
            if refused.status in (401, 403):
                return None
            raise self.provider.wrong(f"refuses to say who a user is ({refused}).") from None
        # A provider may leave out the claim of a user who is in no group: that of before must not stay.
        fresh = found_at(page, self.groups_claim) is not None
        return {**without(known, self.groups_claim), **page, _FRESH: fresh}
