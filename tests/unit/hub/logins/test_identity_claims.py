"""What logins tell of accounts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from jupyterhub.handlers.base import BaseHandler
from jupyterhub.user import User

from hai_hub.config.settings import SERVICE_NAME
from hai_hub.logins import told_identities
from hai_hub.logins.identity_claims import IdentityClaims, WrongClaim
from hai_hub.logins.told_identities import ToldIdentities

CLAIMS = IdentityClaims()
ADA: dict[str, Any] = {
    "uid": 20017,
    "groups": [{"gid": 20017, "name": ""}],
    "home": "/home/ada",
    "shell": "/bin/sh",
}
OIDC = {"access_token": "secret", "oauth_user": {"uidNumber": 20017, "homeDirectory": "/home/ada"}}
LDAP = {"user_attributes": {"uidNumber": ["20017"], "homeDirectory": ["/home/ada"], "loginShell": []}}


@pytest.mark.parametrize("state", [OIDC, LDAP, OIDC["oauth_user"]], ids=["oidc", "ldap", "plain"])
def test_numbers_are_found_where_authenticators_put_them(state: Mapping[str, Any]) -> None:
    assert CLAIMS.account(state, ()) == ADA


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("posix.uid", {"oauth_user": {"posix": {"uid": 7}}}),
        ("oauth_user.posix.uid", {"oauth_user": {"posix": {"uid": 7}}}),
        ("https://example.org/uid", {"oauth_user": {"https://example.org/uid": "7"}}),
        ("oauth_user.https://example.org/uid", {"oauth_user": {"https://example.org/uid": "7"}}),
    ],
)
def test_a_claim_may_be_in_tables_and_have_dots_in_its_name(name: str, state: Mapping[str, Any]) -> None:
    account = replace(CLAIMS, uid=name).account(state, ())
    assert account is not None
    assert account["uid"] == 7


@pytest.mark.parametrize("state", [{}, {"oauth_user": {}}, {"uidNumber": None}, {"uidNumber": []}, {"uidNumber": ""}])
def test_who_has_no_number_has_no_account(state: Mapping[str, Any]) -> None:
    assert CLAIMS.account(state, ["cv"]) is None


@pytest.mark.parametrize(
    "value", ["abc", "1 000", "²", True, 1.5, -1, [1, 2], {"a": 1}, "99999999999", 10**10], ids=str
)
def test_what_is_no_number_is_told_with_claim_and_value(value: Any) -> None:
    with pytest.raises(WrongClaim, match="claim 'uidNumber' is "):
        CLAIMS.account({"uidNumber": value}, ())


@pytest.mark.parametrize(
    ("named", "told", "of_hub", "gids"),
    [
        ("", None, ["cv", "unknown", "nlp"], [20017, 3100, 3200]),
        ("gids", [3100, "3200", 3100], ["nlp"], [20017, 3100, 3200]),
        ("gids", ["cv", "CN=other", "4000"], [], [20017, 3100, 4000]),
        ("gids", "nlp", [], [20017, 3200]),
        ("gids", None, ["cv"], [20017]),
    ],
)
def test_groups_are_numbers_or_names_of_the_table(named: str, told: Any, of_hub: list[str], gids: list[int]) -> None:
    claims = replace(CLAIMS, groups=named, group_numbers={"cv": 3100, "nlp": 3200})
    account = claims.account({"uidNumber": 20017, "gids": told}, of_hub)
    assert account is not None
    assert [group["gid"] for group in account["groups"]] == gids
    assert {group["name"] for group in account["groups"]} <= {"", "cv", "nlp"}


class Service:
    """A scheduler service that can be silent."""

    def __init__(self) -> None:
        self.silent = False
        self.heard: list[tuple[str, Mapping[str, Any] | None]] = []

    async def tell(self, token: str, user: str, account: Mapping[str, Any] | None) -> None:
        assert token == "the-token"
        if self.silent:
            raise TimeoutError
        self.heard.append((user, account))


async def test_the_service_is_told_what_is_new_and_again_what_it_did_not_hear() -> None:
    service = Service()
    told = ToldIdentities(CLAIMS, service.tell)
    service.silent = True
    await told.hear("the-token", "ada", OIDC, [])
    service.silent = False
    for _ in range(3):
        await told.hear("the-token", "ada", OIDC, [])
    assert service.heard == [("ada", ADA)]
    await told.hear("the-token", "ada", None, [])
    assert len(service.heard) == 1, "a renewal that reads nothing takes nothing away"
    await told.hear("the-token", "ada", {"oauth_user": {"uidNumber": "abc"}}, [])
    assert service.heard[1:] == [("ada", None)]


async def test_nothing_of_the_state_but_the_account_is_told() -> None:
    service = Service()
    await ToldIdentities(CLAIMS, service.tell).hear("the-token", "ada", OIDC, [])
    assert "secret" not in repr(service.heard)


async def test_each_login_and_each_renewal_is_heard_whatever_the_authenticator_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    service = Service()
    hub = {"services": {SERVICE_NAME: SimpleNamespace(api_token="the-token")}}

    async def plain(handler: Any, authenticated: Any, user: Any = None) -> Any:
        del handler, user
        name = authenticated if isinstance(authenticated, str) else authenticated["name"]
        return SimpleNamespace(name=name, settings=hub, groups=[SimpleNamespace(name="cv")])

    async def saved(user: Any, state: Any) -> None:
        del user, state

    for place, name, does in ((BaseHandler, "auth_to_user", plain), (User, "save_auth_state", saved)):
        monkeypatch.setattr(told_identities, f"_{name}", does)
        monkeypatch.setattr(place, name, does)
    claims = replace(CLAIMS, group_numbers={"cv": 3100})
    told_identities.tell_identities(ToldIdentities(claims, service.tell))
    handler: Any = SimpleNamespace(settings=hub)
    ada = await BaseHandler.auth_to_user(handler, {"name": "ada", "auth_state": OIDC})
    assert (ada.name, (await BaseHandler.auth_to_user(handler, "bob")).name) == ("ada", "bob")
    groups = [*ADA["groups"], {"gid": 3100, "name": "cv"}]
    assert service.heard == [("ada", {**ADA, "groups": groups})]
    await User.save_auth_state(ada, OIDC)
    await User.save_auth_state(ada, {"claims": {"uidNumber": 20099}})
    await User.save_auth_state(ada, None)
    assert [account["uid"] for _, account in service.heard if account] == [20017, 20099]
