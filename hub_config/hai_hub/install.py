"""Make a JupyterHub a HAI hub."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from traitlets.config import Config

from hai_client.calm import logging_config
from hai_hub.config import addresses
from hai_hub.config.branding import say_names_are_kept, show_name
from hai_hub.config.config_merge import TORNADO_SETTINGS, add_named, add_to_set, add_to_table, given, set_default
from hai_hub.config.overrides import read_overrides
from hai_hub.config.roles import CUSTOM_SCOPES, SERVER_SCOPES, USER_SCOPES, roles
from hai_hub.config.services import loop_service, scheduler_service, spawner_service, up_service
from hai_hub.config.settings import LOOP_NAME, SERVICE_NAME, SPAWNER_TOKEN, HubSettings
from hai_hub.config.spawner_check import check_spawner
from hai_hub.config.spot import install_spot
from hai_hub.culler.setup import install_culler
from hai_hub.logins.login_records import LoginRecords
from hai_hub.logins.slowing import Slowing
from hai_hub.shared import ports
from hai_hub.shared.logs import API_LOG, LOOP_LOG
from hai_hub.shared.state import ADMIN_PASSWORD


def install(c: Config, settings: HubSettings) -> None:
    """Set up proxy, spawner, authenticator, the scheduler service, roles and scopes.

    The administrator's values in `c` win: a value is set only where there is none, lists and dicts are added to, and a
    service or role whose name is taken is left out.

    Args:
        c: JupyterHub's configuration, as `get_config()` gives it.
        settings: The settings of this HAI hub.

    Raises:
        ValueError: The file of overrides or a setting of the spawner or culler is wrong.
        FileNotFoundError: A secret has not been made.
    """
    # Importing JupyterHub takes seconds: `hai up` imports this package and should not pay for it.
    from hai_hub.config.hub_process import prepare_hub
    from hai_hub.config.service_process import watch_closely
    from hai_hub.logins.archived_users import ArchivedUsers, asking, keep_out
    from hai_hub.logins.device_handlers import install_device_logins
    from hai_hub.logins.kept_names import KeptNames, archiving, keep_names
    from hai_hub.logins.plain_names import refuse_look_alikes
    from hai_hub.logins.user_limits import UserRates, limit_users
    from hai_hub.logins.watching import Watch, asking_active

    if settings.overrides_file is not None:
        for section, table in read_overrides(settings.overrides_file).items():
            for trait, value in table.items():
                # Addresses are in the settings already, with what the options of `hai up` say.
                if section != "JupyterHub" or trait not in addresses.READ:
                    c[section][trait] = value
    settings = _placed(c, settings)
    show_name(c)
    _addresses(c, settings)
    _accounts(c, settings)
    _servers(c, settings)
    _rights(c, settings)
    add_named(c, "services", _services(settings))
    install_spot(c, settings.api_url)
    install_device_logins()
    archived = ArchivedUsers(asking(settings.api_url))
    kept = KeptNames(archived, archiving(settings.api_url))
    keep_out(archived, kept.archive_deleted, Watch(asking_active(settings.api_url)))
    keep_names(kept)
    refuse_look_alikes()
    say_names_are_kept(c)
    _culling(c, settings)
    check_spawner(c)
    watch_closely({LOOP_NAME: settings.log_dir / LOOP_LOG, SERVICE_NAME: settings.log_dir / API_LOG})
    limit_users(UserRates())
    # Last: it tells errors of the database in all that the others have changed.
    prepare_hub()


def _services(settings: HubSettings) -> list[dict[str, Any]]:
    own = [scheduler_service(settings), up_service(settings), spawner_service(settings)]
    return own if settings.service_apart else [loop_service(settings), *own]


def _placed(c: Config, settings: HubSettings) -> HubSettings:
    """Return the settings with the address of the administrator's configuration, if that has one.

    JupyterHub listens on all addresses where `base_url`, `ip` or `port` stand beside a `bind_url`: they become a part
    of that one.
    """
    if given(c, "JupyterHub", "bind_url"):
        return replace(settings, base_url=addresses.base_path("bind_url", urlsplit(c.JupyterHub.bind_url).path))
    own = {name: c.JupyterHub.pop(name) for name in ("base_url", "ip", "port") if given(c, "JupyterHub", name)}
    if "base_url" in own:
        own["base_url"] = addresses.base_path("base_url", own["base_url"])
    return replace(settings, **own)


def _addresses(c: Config, settings: HubSettings) -> None:
    set_default(c, "JupyterHub", "bind_url", settings.bind_url)
    set_default(c, "JupyterHub", "hub_bind_url", settings.hub_bind_url)
    if not given(c, "JupyterHub", "db_url"):
        database = settings.state_dir / "jupyterhub.sqlite"
        # Made here, because it holds tokens and JupyterHub would make the file readable for all accounts.
        database.touch(mode=0o600)
        database.chmod(0o600)
        c.JupyterHub.db_url = f"sqlite:///{database}"
    set_default(c, "JupyterHub", "tornado_settings", TORNADO_SETTINGS)
    set_default(c, "JupyterHub", "logging_config", logging_config())
    set_default(c, "JupyterHub", "upgrade_db", True)
    set_default(c, "JupyterHub", "cookie_secret_file", str(settings.secret_file("cookie_secret")))
    set_default(c, "JupyterHub", "proxy_class", "hai_spawner.proxy.embedded.EmbeddedProxy")
    if settings.https_port:
        c.EmbeddedProxy.https_ip = settings.https_ip
        c.EmbeddedProxy.https_port = settings.https_port
        c.EmbeddedProxy.https_certificate = str(settings.certificate)
        c.EmbeddedProxy.https_key = str(settings.certificate_key)
    # Used by ConfigurableHTTPProxy alone; its own choice is the working folder.
    set_default(c, "ConfigurableHTTPProxy", "pid_file", str(settings.state_dir / "hub" / "proxy.pid"))


def _accounts(c: Config, settings: HubSettings) -> None:
    """Give each user a password; only the local user and users that an administrator has added may log in."""
    from hai_hub.logins.login_guard import guard_logins
    from hai_hub.logins.password_handler import add_password_handler

    if not given(c, "JupyterHub", "authenticator_class"):
        c.JupyterHub.authenticator_class = "hai_hub.logins.authenticator.OwnPasswordAuthenticator"
        set_default(c, "OwnPasswordAuthenticator", "local_user", settings.user)
        set_default(c, "OwnPasswordAuthenticator", "admin_password_file", str(settings.secret_file(ADMIN_PASSWORD)))
        set_default(c, "OwnPasswordAuthenticator", "passwords_file", str(settings.secret_file("passwords.json")))
    if not given(c, "Authenticator", "allow_all"):
        set_default(c, "Authenticator", "allow_existing_users", True)
    add_to_set(c, "Authenticator", "allowed_users", {settings.user})
    add_password_handler(settings.unix_users, "`hai up --password` at the next start")
    guard_logins(LoginRecords(settings.log_dir / "logins.log"), Slowing())


def _servers(c: Config, settings: HubSettings) -> None:
    set_default(c, "JupyterHub", "spawner_class", "hai_spawner.spot.local.HaiSpotLocalSpawner")
    set_default(c, "HaiLocalSpawner", "home_root", str(settings.state_dir / "home"))
    set_default(c, "HaiLocalSpawner", "unix_users", settings.unix_users)
    set_default(c, "HaiLocalSpawner", "log_root", str(settings.log_dir))
    set_default(c, "HaiLocalSpawner", "hai_url", settings.url)
    set_default(c, "HaiLocalSpawner", "hai_api_url", settings.api_url)
    set_default(c, "HaiLocalSpawner", "scheduler_token_file", str(settings.secret_file(SPAWNER_TOKEN)))
    if settings.haienv_root is not None:
        set_default(c, "HaiLocalSpawner", "haienv_root", str(settings.haienv_root))
    set_default(c, "Spawner", "server_token_scopes", list(SERVER_SCOPES))


def _rights(c: Config, settings: HubSettings) -> None:
    add_to_table(c, "JupyterHub", "custom_scopes", CUSTOM_SCOPES)
    add_to_set(c, "JupyterHub", "extra_user_scopes", USER_SCOPES)
    add_named(c, "load_roles", roles(settings.user))
    # HAI's tokens come from the `secrets` module: hashing them many times would only make every request slower.
    set_default(c, "JupyterHub", "trust_user_provided_tokens", True)


def _culling(c: Config, settings: HubSettings) -> None:
    port = ports.choose(None, {settings.port, settings.hub_port, settings.service_port})
    install_culler(
        c,
        service_url=f"http://127.0.0.1:{port}",
        bind=("127.0.0.1", port),
        public_url=settings.url,
        api_url=settings.api_url,
        state_file=settings.state_dir / "culler.json",
    )
