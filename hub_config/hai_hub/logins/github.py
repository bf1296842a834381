"""Sign in by GitHub, or a GitHub of one's own: organizations, and teams such as `acme:vision`, are the groups."""

from __future__ import annotations

from typing import Any, Final

from oauthenticator.github import GitHubOAuthenticator
from traitlets import default

from hai_hub.logins.careful_http import CarefulOAuth, ProviderRefused
from hai_hub.logins.in_step import ACCOUNT
from hai_hub.logins.questions import Away, Ended, Gone

#: Entries of a page, and pages that are read at most.
_PAGE: Final = 100
_PAGES: Final = 10
_GROUPS: Final = "hai_groups"


class GitHubAuthenticator(CarefulOAuth, GitHubOAuthenticator):
    """A client of GitHub."""

    address_field = "logins.github.url"

    @default("scope")
    def _scopes(self) -> list[str]:
        return ["read:org"]

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.address = self.github_url

    async def update_auth_model(self, auth_model: dict[str, Any]) -> dict[str, Any]:
        """Add organizations and teams, and whose account it is. Raises ProviderRefused or Away."""
        state = auth_model["auth_state"]
        tokens = state["token_response"]
        organizations = await self._all("user/orgs", tokens)
        teams = await self._all("user/teams", tokens)
        state[_GROUPS] = sorted(
            [str(one["login"]) for one in organizations]
            + [f"{one['organization']['login']}:{one['slug']}" for one in teams]
        )
        # Names can be changed, and taken by others; numbers stay.
        state[ACCOUNT] = f"{self.github_url} {state[self.user_auth_state_key]['id']}"
        return auth_model

    async def _all(self, path: str, tokens: dict[str, Any]) -> list[Any]:
        headers = self.build_userdata_request_headers(tokens["access_token"], tokens["token_type"])
        found: list[Any] = []
        for number in range(1, _PAGES + 1):
            page = await self.httpfetch(f"{self.github_api}/{path}?per_page={_PAGE}&page={number}", headers=headers)
            found += page
            if len(page) < _PAGE:
                break
        return found

    async def get_user_groups(self, auth_state: dict[str, Any]) -> set[str]:
        """Return the groups of the Hub; JupyterHub sorts them."""
        name = self.normalize_username(auth_state[self.user_auth_state_key]["login"])
        return set(self.mapped(name, auth_state[_GROUPS]))

    async def ask_again(self, _name: str, state: dict[str, Any]) -> dict[str, Any]:
        """Return what GitHub says now. See InStep."""
        tokens = state.get("token_response")
        if not tokens:
            raise Ended("there is no token")
        try:
            model = await self._token_to_auth_model(tokens)
        except ProviderRefused as refused:
            if refused.status != 401:
                raise Away(f"{self.address_field}: {self.github_url} refuses a request ({refused}).") from None
            model = await self._token_to_auth_model(await self.renewed(tokens))
        if model["auth_state"][ACCOUNT] != state.get(ACCOUNT):
            raise Gone("GitHub answers with another account")
        return dict(model)
