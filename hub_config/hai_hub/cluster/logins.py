"""Turn `logins` of the chart's values into settings of JupyterHub's authenticators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from hai_hub.cluster.chart_env import ChartEnv

#: Classes of authenticators, by `logins.type`.
CLASSES: Final = {
    "oidc": "hai_hub.logins.oidc.OidcAuthenticator",
    "github": "hai_hub.logins.github.GitHubAuthenticator",
    "ldap": "hai_hub.logins.ldap.LdapAuthenticator",
    "passwords": "hai_hub.logins.hub_passwords.HubPasswordAuthenticator",
}
#: The key of `logins.existingSecret` that each needs.
KEYS: Final = {
    "oidc": "client-secret",
    "github": "client-secret",
    "ldap": "bind-password",
    "passwords": "admin-password",
}
#: Values that each needs, with an example.
_NEEDED: Final = {
    "oidc": {"oidc.issuer": "https://sso.example.org/realms/main", "oidc.clientId": "hai"},
    "github": {"github.clientId": "Iv1.0123456789abcdef"},
    "ldap": {"ldap.address": "ldaps://ldap.example.org", "ldap.userBase": "ou=people,dc=example,dc=org"},
    "passwords": {"admins": "[ann]"},
}
#: Settings of all providers, of each of them, and the value below `logins` that each comes from.
_SHARED: Final = {
    "allow_all": "allowAll",
    "allowed_members": "allowedGroups",
    "bind_names": "bindNames",
    "group_table": "groups",
    "keep_groups_s": "keepGroupsSeconds",
    "look_every_s": "refreshSeconds",
}
_OWN: Final[Mapping[str, Mapping[str, str]]] = {
    "oidc": {
        "client_id": "oidc.clientId",
        "groups_claim": "oidc.groupsClaim",
        "issuer": "oidc.issuer",
        "login_service": "oidc.title",
        "name_claim": "oidc.usernameClaim",
        "name_domain": "oidc.domain",
        "scope": "oidc.scopes",
    },
    "github": {"client_id": "github.clientId", "github_url": "github.url"},
    "ldap": {
        "address": "ldap.address",
        "attributes": "ldap.attributes",
        "bind_dn": "ldap.bindDn",
        "group_base": "ldap.groupBase",
        "group_filter": "ldap.groupFilter",
        "name_attribute": "ldap.nameAttribute",
        "start_tls": "ldap.startTls",
        "user_base": "ldap.userBase",
        "user_filter": "ldap.userFilter",
    },
    "passwords": {},
}
_SECRET: Final = {
    "oidc": "client_secret",
    "github": "client_secret",
    "ldap": "bind_password",
    "passwords": "admin_password",
}


def login_traits(around: ChartEnv) -> dict[str, dict[str, Any]]:
    """Return JupyterHub's settings, by class and trait; none where `logins.type` is `none`.

    Raises:
        ValueError: A value is missing or wrong; the text names it with the remedy.
    """
    kind = around.value("logins.type")
    if kind == "none":
        return {}
    _check(around, kind)
    own = {trait: around.value(f"logins.{name}") for trait, name in _OWN[kind].items()}
    own[_SECRET[kind]] = around.login_secret
    if kind == "passwords":
        own["local_user"] = around.value("logins.admins")[0]
    else:
        own |= {trait: around.value(f"logins.{name}") for trait, name in _SHARED.items()}
        _check_table(own["group_table"])
    if kind in ("oidc", "github") and (public := around.value("logins.publicUrl")):
        own["oauth_callback_url"] = f"{public.rstrip('/')}{around.value('hub.baseUrl')}hub/oauth_callback"
    shared: dict[str, Any] = {"admin_users": set(around.value("logins.admins"))}
    if kind == "passwords":
        shared |= {"allow_existing_users": True, "enable_auth_state": True}
    return {
        "JupyterHub": {"authenticator_class": CLASSES[kind]},
        "Authenticator": shared,
        CLASSES[kind].rpartition(".")[2]: own,
    }


def login_groups(around: ChartEnv) -> list[str]:
    """Return the groups whose members are admins. Raises ValueError."""
    if around.value("logins.type") in ("none", "passwords"):
        return []
    return list(_check_table(around.value("logins.groups")))


def _check_table(rows: list[Mapping[str, Any]]) -> tuple[str, ...]:
    # Importing this imports JupyterHub, which takes seconds: `hai cluster` should not pay for it.
    from hai_hub.logins.claims import GroupTable

    return GroupTable.of(rows, "logins.groups").admins


def _check(around: ChartEnv, kind: str) -> None:
    chosen = (around.value("hub.config").get("JupyterHub") or {}).get("authenticator_class")
    if chosen is not None:
        raise ValueError(
            f"logins.type: is {kind}, and hub.config.JupyterHub.authenticator_class is {chosen}: keep one, and leave"
            " the other out (`logins.type: none`)"
        )
    for name, example in _NEEDED[kind].items():
        if not around.value(f"logins.{name}"):
            raise ValueError(f"logins.{name}: is empty, and logins.type is {kind}: write it, such as {example}")
    if not around.login_secret and not (kind == "ldap" and not around.value("logins.ldap.bindDn")):
        named = around.value("logins.existingSecret")
        raise ValueError(
            f"logins.existingSecret: is {named!r}, and there is no key {KEYS[kind]} in such a Secret: make one with"
            f" `kubectl -n NAMESPACE create secret generic {named or 'hai-logins'} --from-file={KEYS[kind]}=FILE`"
        )
    if kind == "ldap":
        _check_ldap(around)


def _check_ldap(around: ChartEnv) -> None:
    address = around.value("logins.ldap.address")
    parts = urlsplit(address)
    if parts.scheme not in ("ldap", "ldaps") or not parts.hostname or parts.path.strip("/"):
        raise ValueError(f"logins.ldap.address: is {address!r}: write ldaps://HOST, or ldap://HOST with startTls")
    if parts.scheme == "ldap" and not around.value("logins.ldap.startTls"):
        raise ValueError(
            f"logins.ldap.startTls: is false, and {address} would carry everybody's password in the clear: write true,"
            " or an address with ldaps://"
        )
    if "{user}" not in around.value("logins.ldap.userFilter"):
        raise ValueError("logins.ldap.userFilter: does not hold {user}, so all users would be one: write (uid={user})")
