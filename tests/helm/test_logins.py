"""Logins by values of the chart alone: what reaches the Hub, and what is said of values that are wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jupyterhub.auth import Authenticator
from traitlets.config import Config

from hai_hub.cluster.chart_env import ChartEnv
from hai_hub.cluster.install import configure
from hai_hub.cluster.logins import CLASSES
from kit.helm.pods import ELSEWHERE
from kit.helm.rendering import Render, Rendered

ROWS = [{"match": "gpu-(.+)", "group": "\\1"}, {"match": "ops", "group": "hai-admins", "admin": True}]
OIDC = {"issuer": "https://sso.example.org/realms/main", "clientId": "hai", "title": "Keycloak"}
LDAP = {"address": "ldaps://ldap.example.org", "userBase": "ou=people,dc=x", "bindDn": "cn=hai,dc=x"}
WAYS: dict[str, dict[str, Any]] = {
    "oidc": {"type": "oidc", "existingSecret": "sso", "groups": ROWS, "oidc": OIDC},
    "github": {"type": "github", "existingSecret": "sso", "groups": ROWS, "github": {"clientId": "Iv1"}},
    "ldap": {"type": "ldap", "existingSecret": "sso", "groups": ROWS, "ldap": LDAP},
    "passwords": {"type": "passwords", "existingSecret": "sso", "admins": ["ann"]},
}
#: What each authenticator has of its own then.
MADE: dict[str, dict[str, Any]] = {
    "oidc": {
        "issuer": "https://sso.example.org/realms/main",
        "client_id": "hai",
        "client_secret": ELSEWHERE,
        "login_service": "Keycloak",
        "scope": ["openid", "profile", "email", "offline_access"],
        "groups_claim": "groups",
        "allow_all": False,
    },
    "github": {
        "client_id": "Iv1",
        "client_secret": ELSEWHERE,
        "github_url": "https://github.com",
        "scope": ["read:org"],
    },
    "ldap": {"address": "ldaps://ldap.example.org", "bind_password": ELSEWHERE, "start_tls": True, "allow_all": False},
    "passwords": {"admin_password": ELSEWHERE, "local_user": "ann", "allow_existing_users": True},
}
KEYS = {"oidc": "client-secret", "github": "client-secret", "ldap": "bind-password", "passwords": "admin-password"}
Make = Callable[..., ChartEnv]
each_way = pytest.mark.parametrize("way", WAYS)


def sources(made: Rendered) -> list[Any]:
    (volume,) = [one for one in dict(made.pods())["hub"]["volumes"] if one["name"] == "secrets"]
    return list(volume["projected"]["sources"])


def authenticator(c: Config) -> Authenticator:
    module, _, name = c.JupyterHub.authenticator_class.rpartition(".")
    made = getattr(__import__(module, fromlist=[name]), name)(config=c)
    assert isinstance(made, Authenticator)
    return made


@each_way
def test_the_secret_reaches_the_hub_as_a_file_and_stands_nowhere_else(render: Render, way: str) -> None:
    made = render({"logins": WAYS[way]})
    wanted = {"name": "sso", "optional": True, "items": [{"key": KEYS[way], "path": "login-secret"}]}
    assert {"secret": wanted} in sources(made)
    env = dict(made.pods())["hub"]["containers"][0]["env"]
    assert {"name": "HAI_LOGIN_SECRET_FILE", "value": "/etc/hai/secrets/login-secret"} in env
    assert not [one for one in made.all("ConfigMap") if "sso" in str(one)]


def test_without_logins_nothing_changes(render: Render, chart_env: Make) -> None:
    made = render({})
    assert "login" not in str(sources(made)) + str(dict(made.pods())["hub"]["containers"])
    c = Config()
    configure(c, chart_env({}))
    assert c.JupyterHub.authenticator_class == "null"


@each_way
def test_values_become_an_authenticator(chart_env: Make, way: str) -> None:
    c = Config()
    configure(c, chart_env({"logins": WAYS[way]}))
    assert c.JupyterHub.authenticator_class == CLASSES[way]
    made = authenticator(c)
    assert {name: getattr(made, name) for name in MADE[way]} == MADE[way]
    assert made.enable_auth_state
    assert ELSEWHERE not in repr(chart_env({"logins": WAYS[way]}))


@pytest.mark.parametrize("way", ["oidc", "github", "ldap"])
def test_admins_are_users_and_members_of_groups(chart_env: Make, way: str) -> None:
    c = Config()
    configure(c, chart_env({"logins": WAYS[way] | {"admins": ["ann"]}}))
    (role,) = [role for role in c.JupyterHub.load_roles if role["name"] == "hai-admin"]
    assert (role["users"], role["groups"]) == (["ann"], ["hai-admins"])
    assert authenticator(c).admin_users == {"ann"}


def test_people_come_back_to_the_public_address(chart_env: Make) -> None:
    c = Config()
    values = {"logins": WAYS["oidc"] | {"publicUrl": "https://hub.example.org/"}, "hub": {"baseUrl": "/gpu/"}}
    configure(c, chart_env(values))
    assert authenticator(c).oauth_callback_url == "https://hub.example.org/gpu/hub/oauth_callback"


def test_settings_of_jupyterhub_win(chart_env: Make) -> None:
    c = Config()
    config = {"OidcAuthenticator": {"scope": ["openid"]}, "Authenticator": {"allowed_users": ["zoe"]}}
    configure(c, chart_env({"logins": WAYS["oidc"], "hub": {"config": config}}))
    made = authenticator(c)
    assert (made.scope, "zoe" in made.allowed_users) == (["openid"], True)


@pytest.mark.parametrize(
    ("way", "changed", "said"),
    [
        (
            "oidc",
            {"oidc": {"clientId": "hai"}},
            "logins.oidc.issuer: is empty, and logins.type is oidc: write it, such as",
        ),
        ("oidc", {"oidc": {"issuer": "https://x"}}, "logins.oidc.clientId: is empty"),
        ("oidc", {"existingSecret": ""}, "logins.existingSecret: is '', and there is no key client-secret"),
        ("oidc", {"groups": [{"match": "("}]}, "logins.groups[0].match: '(' is no pattern"),
        ("oidc", {"groups": [{"match": "x", "group": "a/b"}]}, "logins.groups[0].group: 'a/b' is no name"),
        ("github", {"github": {}}, "logins.github.clientId: is empty"),
        ("ldap", {"ldap": {"userBase": "ou=x"}}, "logins.ldap.address: is empty"),
        ("ldap", {"ldap": {"address": "ldaps://x"}}, "logins.ldap.userBase: is empty"),
        (
            "ldap",
            {"ldap": LDAP | {"address": "ldap.example.org"}},
            "logins.ldap.address: is 'ldap.example.org': write ldaps://",
        ),
        (
            "ldap",
            {"ldap": LDAP | {"address": "ldap://x", "startTls": False}},
            "logins.ldap.startTls: is false, and ldap://x",
        ),
        ("ldap", {"ldap": LDAP | {"userFilter": "(uid=x)"}}, "logins.ldap.userFilter: does not hold {user}"),
        ("passwords", {"admins": []}, "logins.admins: is empty"),
    ],
)
def test_what_is_missing_or_wrong_is_named_with_a_remedy(
    chart_env: Make, way: str, changed: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        configure(Config(), chart_env({"logins": WAYS[way] | changed}))


def test_a_key_that_is_not_in_the_secret_is_named(chart_env: Make, tmp_path: Path) -> None:
    missing = {"HAI_LOGIN_SECRET_FILE": str(tmp_path / "nowhere")}
    with pytest.raises(ValueError, match=r"existingSecret: is 'sso', and there is no key client-secret.*--from-file="):
        configure(Config(), chart_env({"logins": WAYS["oidc"]}, missing))


def test_two_authenticators_are_refused(chart_env: Make) -> None:
    values = {"logins": WAYS["oidc"], "hub": {"config": {"JupyterHub": {"authenticator_class": "dummy"}}}}
    with pytest.raises(ValueError, match=r"logins.type: is oidc, and hub.config.*is dummy: keep one"):
        configure(Config(), chart_env(values))


@pytest.mark.parametrize(
    ("logins", "said"),
    [
        ({"type": "saml"}, "logins.type"),
        ({"oidc": {"issuer": "http://sso.example.org"}}, "logins.oidc.issuer"),
        ({"oidc": {"clientSecret": "x"}}, "clientSecret"),
        ({"groups": [{"group": "x"}]}, "match"),
        ({"refreshSeconds": 0}, "refreshSeconds"),
    ],
)
def test_helm_refuses_by_the_schema(run_helm: Any, logins: dict[str, Any], said: str) -> None:
    from kit.helm.rendering import CHART

    result = run_helm("template", "hai", str(CHART), values={"logins": logins})
    assert result.returncode != 0
    assert said in result.stderr.replace("/", ".")
