"""The tokens with which the Hub submits in a user's name."""

from __future__ import annotations

import pytest

from hai_spawner.spot.scheduler import SCOPES, NoToken, Tokens
from unit.spawner.hub_user import User


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
