"""The tokens with which the Hub submits in a user's name."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hai_spawner.spot.scheduler import SCOPES, NoToken, Tokens


class User:
    """JupyterHub's, as far as it is used."""

    def __init__(self, *, rights: bool = True) -> None:
        self.name, self.url, self.escaped_name = "ann", "/user/ann/", "ann"
        self.groups: list[object] = []
        self.roles: list[object] = []
        self.admin = False
        self.made: list[dict[str, Any]] = []
        self.commits = 0
        self.db = SimpleNamespace(commit=self._commit)
        self._rights = rights

    def _commit(self) -> None:
        self.commits += 1

    def new_api_token(self, **given: Any) -> str:
        if not self._rights:
            raise ValueError("Not assigning requested scopes")
        self.made.append(given)
        return f"token-{len(self.made)}"


def test_a_token_is_the_users_own_small_and_short_lived() -> None:
    now = 0.0
    user, tokens = User(), Tokens(clock=lambda: now)
    assert [tokens.of(user), tokens.of(user)] == ["token-1", "token-1"]
    assert user.made == [{"note": "spot container", "scopes": list(SCOPES), "expires_in": 3600}]
    now = 3400.0
    assert tokens.of(user) == "token-2"
    tokens.forget(user)
    assert tokens.of(user) == "token-3"


def test_who_may_not_submit_gets_no_token() -> None:
    with pytest.raises(NoToken, match="ask an administrator"):
        Tokens().of(User(rights=False))
