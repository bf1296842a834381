"""Make a JupyterHub in a pod of the chart a HAI hub: `configure(c, surroundings)`."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from traitlets.config import Config

from hai_client.skew import IMAGE, judge
from hai_client.version import __version__
from hai_hub.cluster.chart_env import ChartEnv as ChartEnv
from hai_hub.cluster.logins import login_groups, login_traits
from hai_hub.cluster.servers import culling_traits, server_traits
from hai_hub.cluster.services import cluster_roles, cluster_services
from hai_hub.config.branding import say_names_are_kept, show_name
from hai_hub.config.config_merge import TORNADO_SETTINGS, add_named, add_to_set, add_to_table, given, set_default
from hai_hub.config.roles import CUSTOM_SCOPES, SERVER_SCOPES, USER_SCOPES
from hai_hub.config.spawner_check import check_spawner
from hai_hub.config.spot import install_spot
from hai_hub.culler.setup import install_culler

log = logging.getLogger(__name__)

#: Where the culler listens in the Hub's pod.
CULLER_PORT: Final = 8083

#: Settings of JupyterHub that have a value of their own in the chart.
_HUB_TRAITS: Final = {
    "active_server_limit": "activeServerLimit",
    "allow_named_servers": "allowNamedServers",
    "authenticate_prometheus": "authenticatePrometheus",
    "base_url": "baseUrl",
    "concurrent_spawn_limit": "concurrentSpawnLimit",
    "named_server_limit_per_user": "namedServerLimitPerUser",
    "redirect_to_server": "redirectToServer",
    "shutdown_on_logout": "shutdownOnLogout",
}


def configure(c: Config, around: ChartEnv) -> None:
    """Set up proxy, database, spawner, services, roles and scopes; the administrator's values win.

    Args:
        c: JupyterHub's configuration, as `get_config()` gives it.
        around: Values, addresses and tokens from the chart.

    Raises:
        ValueError: A value is wrong.
        OSError: A token cannot be read.
    """
    # Importing JupyterHub takes seconds: `hai cluster` imports this package and should not pay for it.
    from hai_hub.config.hub_process import prepare_hub
    from hai_hub.config.service_process import watch_closely
    from hai_hub.logins.archived_users import ArchivedUsers, asking, keep_out
    from hai_hub.logins.device_handlers import install_device_logins
    from hai_hub.logins.identity_claims import IdentityClaims
    from hai_hub.logins.kept_names import KeptNames, archiving, keep_names
    from hai_hub.logins.login_guard import guard_logins
    from hai_hub.logins.login_records import LoggedLogins
    from hai_hub.logins.password_handler import add_password_handler
    from hai_hub.logins.plain_names import refuse_look_alikes
    from hai_hub.logins.slowing import Slowing
    from hai_hub.logins.told_identities import ToldIdentities, tell_identities, telling
    from hai_hub.logins.user_limits import UserRates, limit_users
    from hai_hub.logins.watching import Watch, asking_active

    for section, table in around.value("hub.config").items():
        for trait, value in table.items():
            c[section][trait] = value
    show_name(c)
    if told := judge(IMAGE, __version__, around.version).sentence:
        log.warning("%s", told)
    for section, traits in login_traits(around).items():
        for trait, value in traits.items():
            set_default(c, section, trait, value)
    _hub(c, around)
    _secrets(c, around)
    _servers(c, around)
    _rights(c, around)
    install_spot(c, around.api_url)
    install_device_logins()
    archived = ArchivedUsers(asking(around.api_url))
    kept = KeptNames(archived, archiving(around.api_url))
    keep_out(archived, kept.archive_deleted, Watch(asking_active(around.api_url)))
    keep_names(kept)
    refuse_look_alikes()
    guard_logins(LoggedLogins(), Slowing())
    add_password_handler("", "the key admin-password of logins.existingSecret, and a restart of the Hub,")
    say_names_are_kept(c)
    if around.value("identity.source") == "claims":
        claims = around.value("identity.claims")
        names = {name: claims[name] for name in ("uid", "gid", "groups", "home", "shell")}
        identity_claims = IdentityClaims(**names, group_numbers=claims["groupNumbers"])
        tell_identities(ToldIdentities(identity_claims, telling(around.api_url)))
    _culling(c, around)
    if around.scheduler_config is not None:
        # No log files: the services write to the pod's own log.
        watch_closely({})
    _scripts(c, around.value("hub.extraConfig"))
    check_spawner(c)
    limit_users(UserRates())
    # Last: it tells errors of the database in all that the others have changed.
    prepare_hub()


def _hub(c: Config, around: ChartEnv) -> None:
    for trait, name in _HUB_TRAITS.items():
        if (value := around.value(f"hub.{name}")) is not None:
            set_default(c, "JupyterHub", trait, value)
    set_default(c, "JupyterHub", "hub_bind_url", "http://:8081")
    set_default(c, "JupyterHub", "hub_connect_url", around.hub_url)
    set_default(c, "JupyterHub", "db_url", around.db_url)
    set_default(c, "JupyterHub", "tornado_settings", TORNADO_SETTINGS)
    set_default(c, "JupyterHub", "upgrade_db", around.value("hub.db.upgrade"))
    set_default(c, "JupyterHub", "proxy_class", "configurable-http-proxy")
    set_default(c, "ConfigurableHTTPProxy", "api_url", around.proxy_api_url)
    # The proxy is a pod of its own, so that servers and connections outlive a restart of the Hub.
    set_default(c, "ConfigurableHTTPProxy", "should_start", False)
    set_default(c, "JupyterHub", "cleanup_servers", False)
    set_default(c, "JupyterHub", "last_activity_interval", 60)
    if around.value("debug.enabled"):
        set_default(c, "JupyterHub", "log_level", "DEBUG")
    if not given(c, "JupyterHub", "authenticator_class"):
        # Without an authenticator of the administrator's choice no user may log in.
        c.JupyterHub.authenticator_class = "null"


def _secrets(c: Config, around: ChartEnv) -> None:
    """Set the secrets that JupyterHub would otherwise read from its environment, which its child processes inherit."""
    if around.proxy_token:
        set_default(c, "ConfigurableHTTPProxy", "auth_token", around.proxy_token)
    if around.cookie_secret:
        try:
            set_default(c, "JupyterHub", "cookie_secret", bytes.fromhex(around.cookie_secret))
        except ValueError:
            message = "JPY_COOKIE_SECRET: write hexadecimal digits, 64 of them, for example of `openssl rand -hex 32`"
            raise ValueError(message) from None
    if around.crypt_key:
        keys = [key.strip() for key in around.crypt_key.split(";") if key.strip()]
        set_default(c, "CryptKeeper", "keys", keys)


def _servers(c: Config, around: ChartEnv) -> None:
    set_default(c, "JupyterHub", "spawner_class", "hai-kube")
    for section, traits in server_traits(around).items():
        for trait, value in traits.items():
            set_default(c, section, trait, value)
    set_default(c, "Spawner", "server_token_scopes", list(SERVER_SCOPES))
    limit = around.value("hub.consecutiveFailureLimit")
    if limit is not None:
        set_default(c, "Spawner", "consecutive_failure_limit", limit)


def _culling(c: Config, around: ChartEnv) -> None:
    for trait, value in culling_traits(around.value("cull")).items():
        set_default(c, "HaiCulling", trait, value)
    base = around.value("hub.baseUrl").rstrip("/")
    install_culler(
        c,
        service_url=f"{around.hub_url.rpartition(':')[0]}:{CULLER_PORT}",
        bind=("0.0.0.0", CULLER_PORT),  # noqa: S104  # the proxy is another pod
        public_url=around.public_url + base,
        api_url=around.api_url,
        state_file=Path("culler.json").absolute(),
    )


def _rights(c: Config, around: ChartEnv) -> None:
    add_to_table(c, "JupyterHub", "custom_scopes", CUSTOM_SCOPES)
    add_to_set(c, "JupyterHub", "extra_user_scopes", USER_SCOPES)
    # The administrator's entries first: they replace HAI's entries of the same name.
    add_named(c, "load_roles", _entries(around.value("hub.loadRoles")))
    add_named(c, "services", _entries(around.value("hub.services")))
    config = around.value("hub.config").values()
    add_named(
        c,
        "load_roles",
        cluster_roles(
            users=sorted({*_all_of(config, "admin_users"), *around.value("logins.admins")}),
            groups=sorted({*_all_of(config, "admin_groups"), *login_groups(around)}),
        ),
    )
    add_named(c, "services", cluster_services(around))
    # The chart makes random tokens: hashing them many times would only make every request slower.
    set_default(c, "JupyterHub", "trust_user_provided_tokens", True)


def _all_of(sections: Iterable[Mapping[str, Any]], trait: str) -> list[str]:
    return sorted({str(name) for section in sections for name in section.get(trait) or ()})


def _entries(table: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return entries by name as JupyterHub's list of named dicts; `apiToken` is zero-to-jupyterhub's spelling."""
    entries = []
    for name, entry in table.items():
        plain = {"name": name, **entry}
        if "apiToken" in plain:
            plain["api_token"] = plain.pop("apiToken")
        entries.append(plain)
    return entries


def _scripts(c: Config, scripts: Mapping[str, str]) -> None:
    """Run `hub.extraConfig`: Python code of the admin who installs the chart and may run any code here."""
    for name, text in sorted(scripts.items()):
        exec(compile(text, f"hub.extraConfig.{name}", "exec"), {"c": c, "get_config": lambda: c})  # noqa: S102
