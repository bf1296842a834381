"""Make a JupyterHub a HAI hub."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from traitlets.config import Config
from traitlets.config.loader import LazyConfigValue

from hai_hub import ports
from hai_hub.culler_setup import install_culler
from hai_hub.overrides import read_overrides
from hai_hub.roles import CUSTOM_SCOPES, SERVER_SCOPES, USER_SCOPES, roles
from hai_hub.services import scheduler_service, up_service
from hai_hub.settings import API_PATH, HubSettings
from hai_hub.spawner_check import check_spawner
from hai_hub.spot import install_spot


def install(c: Config, settings: HubSettings) -> None:
    """Set up proxy, spawner, authenticator, the scheduler service, roles and scopes.

    What `c` holds already stays: values are set only where there is none, lists and tables are added to, and a
    service or role of the same name is the administrator's own.

    Args:
        c: JupyterHub's configuration, as `get_config()` gives it.
        settings: Everything that HAI needs to know.

    Raises:
        ValueError: The file of overrides is wrong, or a setting of servers is.
        FileNotFoundError: A secret has not been made.
    """
    # Importing JupyterHub takes seconds, which `hai up`, a user of this package, would spend for nothing.
    from hai_hub.service_process import watch_closely

    if settings.overrides_file is not None:
        for section, table in read_overrides(settings.overrides_file).items():
            for trait, value in table.items():
                c[section][trait] = value
    _addresses(c, settings)
    _accounts(c, settings)
    _servers(c, settings)
    _rights(c, settings)
    _add_named(c, "services", [scheduler_service(settings), up_service(settings)])
    install_spot(c, settings.service_url + API_PATH)
    _culling(c, settings)
    check_spawner(c)
    watch_closely(settings.log_dir / "scheduler.log")


def _addresses(c: Config, settings: HubSettings) -> None:
    _default(c, "JupyterHub", "bind_url", settings.bind_url)
    _default(c, "JupyterHub", "hub_bind_url", settings.hub_url)
    _default(c, "JupyterHub", "db_url", f"sqlite:///{settings.state_dir / 'jupyterhub.sqlite'}")
    _default(c, "JupyterHub", "upgrade_db", True)
    _default(c, "JupyterHub", "cookie_secret_file", str(settings.secret_file("cookie_secret")))
    _default(c, "JupyterHub", "proxy_class", "hai_spawner.proxy.EmbeddedProxy")
    # Used by ConfigurableHTTPProxy alone; its own choice is the working folder.
    _default(c, "ConfigurableHTTPProxy", "pid_file", str(settings.state_dir / "hub" / "proxy.pid"))


def _accounts(c: Config, settings: HubSettings) -> None:
    """One generated password; nobody but the local user and users that an administrator has added may log in."""
    if not _given(c, "JupyterHub", "authenticator_class"):
        c.JupyterHub.authenticator_class = "shared-password"
        _default(c, "SharedPasswordAuthenticator", "user_password", settings.secret("password"))
    if not _given(c, "Authenticator", "allow_all"):
        _default(c, "Authenticator", "allow_existing_users", True)
    _add_to_set(c, "Authenticator", "allowed_users", {settings.user})


def _servers(c: Config, settings: HubSettings) -> None:
    _default(c, "JupyterHub", "spawner_class", "hai_spawner.spot_local.HaiSpotLocalSpawner")
    _default(c, "HaiLocalSpawner", "home_root", str(settings.state_dir / "home"))
    _default(c, "HaiLocalSpawner", "log_root", str(settings.log_dir))
    _default(c, "HaiLocalSpawner", "hai_url", settings.url)
    _default(c, "HaiLocalSpawner", "hai_api_url", settings.service_url + API_PATH)
    _default(c, "Spawner", "server_token_scopes", list(SERVER_SCOPES))


def _rights(c: Config, settings: HubSettings) -> None:
    _add_to_table(c, "JupyterHub", "custom_scopes", CUSTOM_SCOPES)
    _add_to_set(c, "JupyterHub", "extra_user_scopes", USER_SCOPES)
    _add_named(c, "load_roles", roles(settings.user))
    # Ours come from the `secrets` module: stretching them would only make every request slower.
    _default(c, "JupyterHub", "trust_user_provided_tokens", True)


def _culling(c: Config, settings: HubSettings) -> None:
    port = ports.choose(None, {settings.port, settings.hub_port, settings.service_port})
    install_culler(
        c,
        service_url=f"http://127.0.0.1:{port}",
        bind=("127.0.0.1", port),
        public_url=settings.url,
        api_url=settings.service_url + API_PATH,
        state_file=settings.state_dir / "culler.json",
    )


def _given(c: Config, section: str, trait: str) -> bool:
    return section in c and trait in c[section]


def _plain(c: Config, section: str, trait: str) -> Any:
    """The value that was set, or None where there is none or only additions to a default."""
    if not _given(c, section, trait) or isinstance(c[section][trait], LazyConfigValue):
        return None
    return c[section][trait]


def _default(c: Config, section: str, trait: str, value: object) -> None:
    if not _given(c, section, trait):
        c[section][trait] = value


def _add_to_set(c: Config, section: str, trait: str, values: Iterable[str]) -> None:
    given = _plain(c, section, trait)
    if given is None:
        c[section][trait].update(set(values))
    else:
        c[section][trait] = {*given, *values}


def _add_to_table(c: Config, section: str, trait: str, values: Mapping[str, Any]) -> None:
    given = _plain(c, section, trait)
    if given is None:
        c[section][trait].update(dict(values))
    else:
        c[section][trait] = {**values, **given}


def _add_named(c: Config, trait: str, entries: list[dict[str, Any]]) -> None:
    """Add to a list of tables with names, leaving out those whose name is taken."""
    given = _plain(c, "JupyterHub", trait)
    if given is None:
        c.JupyterHub[trait].extend(entries)
        return
    taken = {entry.get("name") for entry in given}
    c.JupyterHub[trait] = [*given, *(entry for entry in entries if entry["name"] not in taken)]
