"""`install` adds to a configuration and overwrites nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from jupyterhub.apihandlers.users import UserTokenListAPIHandler
from jupyterhub.app import JupyterHub
from jupyterhub.handlers.base import BaseHandler
from jupyterhub.services import service as hub_service
from traitlets.config import Config

from hai_hub.config.settings import HubSettings
from hai_hub.install import install


def installed(settings: HubSettings, c: Config | None = None) -> JupyterHub:
    """What JupyterHub makes of the configuration."""
    config = Config() if c is None else c
    install(config, settings)
    return JupyterHub(config=config)


def names(entries: list[dict[str, Any]]) -> list[str]:
    return [entry["name"] for entry in entries]


def test_an_empty_configuration_becomes_a_hub_on_this_machine(settings: HubSettings) -> None:
    hub = installed(settings)
    assert (hub.bind_url, hub.hub_bind_url) == ("http://127.0.0.1:8123/", "http://127.0.0.1:21001")
    assert hub.proxy_class.__name__ == "EmbeddedProxy"
    assert hub.spawner_class.__name__ == "HaiSpotLocalSpawner"
    assert hub.authenticator_class.__name__ == "OwnPasswordAuthenticator"
    assert names(hub.services) == ["hai-loop", "hai", "hai-up", "hai-spawner"]
    assert names(hub.load_roles) == ["hai-admin", "hai-service", "hai-up", "hai-spawner"]
    assert "custom:hai:tasks:write" in hub.extra_user_scopes
    assert hub.db_url == f"sqlite:///{settings.state_dir}/jupyterhub.sqlite"
    assert UserTokenListAPIHandler.post.__module__ == "hai_hub.logins.user_limits"
    assert BaseHandler.prepare.__module__ == "hai_hub.config.database_errors", "it tells errors in all others"


def test_only_the_local_user_and_users_that_were_added_are_let_in(settings: HubSettings) -> None:
    hub = installed(settings)
    authenticator = hub.authenticator_class(config=hub.config)
    assert authenticator.allowed_users == {"ann"}
    assert authenticator.allow_existing_users
    assert not authenticator.allow_all
    assert not authenticator.admin_users


def test_what_the_administrator_has_set_stays(settings: HubSettings) -> None:
    c = Config()
    c.JupyterHub.services = [{"name": "culler", "url": "http://127.0.0.1:1"}]
    c.JupyterHub.load_roles = [{"name": "team", "scopes": ["list:users"]}]
    c.JupyterHub.custom_scopes = {"custom:other": {"description": "Other"}}
    c.JupyterHub.extra_user_scopes = {"list:groups"}
    c.JupyterHub.proxy_class = "configurable-http-proxy"
    c.JupyterHub.authenticator_class = "dummy"
    c.JupyterHub.db_url = "sqlite:///other"
    c.Authenticator.allowed_users = {"eva"}
    hub = installed(settings, c)
    assert names(hub.services) == ["culler", "hai-loop", "hai", "hai-up", "hai-spawner"]
    assert names(hub.load_roles) == ["team", "hai-admin", "hai-service", "hai-up", "hai-spawner"]
    assert set(hub.custom_scopes) >= {"custom:other", "custom:hai:admin"}
    assert hub.extra_user_scopes >= {"list:groups", "custom:hai:tasks:write"}
    assert hub.proxy_class.__name__ == "ConfigurableHTTPProxy"
    assert hub.authenticator_class.__name__ == "DummyAuthenticator"
    assert hub.db_url == "sqlite:///other"
    assert c.Authenticator.allowed_users == {"ann", "eva"}
    assert "OwnPasswordAuthenticator" not in c


def test_the_lists_of_the_administrator_are_not_changed_in_place(settings: HubSettings) -> None:
    own: list[dict[str, Any]] = []
    c = Config()
    c.JupyterHub.services = own
    install(c, settings)
    assert own == []


def test_a_service_and_a_role_of_the_administrator_with_our_name_win(settings: HubSettings) -> None:
    c = Config()
    c.JupyterHub.services = [{"name": "hai", "url": "http://elsewhere:1"}]
    c.JupyterHub.load_roles = [{"name": "hai-admin", "scopes": ["custom:hai:admin"], "groups": ["ops"]}]
    hub = installed(settings, c)
    assert hub.services[0] == {"name": "hai", "url": "http://elsewhere:1"}
    assert names(hub.services) == ["hai", "hai-loop", "hai-up", "hai-spawner"]
    assert hub.load_roles[0]["groups"] == ["ops"]
    assert names(hub.load_roles) == ["hai-admin", "hai-service", "hai-up", "hai-spawner"]


def test_additions_that_were_made_before_are_kept(settings: HubSettings) -> None:
    c = Config()
    c.JupyterHub.services.append({"name": "culler", "url": "http://127.0.0.1:1"})
    assert names(installed(settings, c).services) == ["culler", "hai-loop", "hai", "hai-up", "hai-spawner"]


def test_a_toml_file_sets_any_trait_of_any_class(settings: HubSettings, tmp_path: Path) -> None:
    file = tmp_path / "hub.toml"
    file.write_text(
        '[JupyterHub]\nauthenticator_class = "dummy"\nproxy_class = "configurable-http-proxy"\n'
        "[Authenticator]\nallow_all = true\n[Spawner]\nhttp_timeout = 7\n"
    )
    c = Config()
    hub = installed(HubSettings(state_dir=tmp_path, user="ann", overrides_file=file), c)
    assert hub.authenticator_class.__name__ == "DummyAuthenticator"
    assert hub.proxy_class.__name__ == "ConfigurableHTTPProxy"
    assert hub.authenticator_class(config=c).allow_all
    assert hub.spawner_class(config=c).http_timeout == 7


def test_the_service_is_looked_after_every_second(settings: HubSettings) -> None:
    installed(settings)
    made = hub_service._ServiceSpawner(cmd=["true"])
    assert made.poll_interval == 1
    assert made.log_files == {
        "hai": settings.log_dir / "api.log",
        "hai-loop": settings.log_dir / "scheduler.log",
    }


def test_a_hub_that_looks_after_the_scheduler_has_two_services_for_it(settings: HubSettings) -> None:
    hub = installed(settings)
    loop, api = (named(hub.services, name) for name in ("hai-loop", "hai"))
    assert ("url" in loop, "url" in api) == (False, True)
    assert loop["command"] != api["command"]
    assert "api_token" not in loop, "it asks the Hub nothing"
    assert "hai-loop" not in names(installed(replace(settings, service_apart=True)).services)


def test_the_loop_of_a_hub_below_a_path_tells_ranks_that_path(settings: HubSettings) -> None:
    c = Config()
    c.JupyterHub.base_url = "/jupyter"
    install(c, settings)
    loop = named(c.JupyterHub.services, "hai-loop")
    assert loop["environment"]["JUPYTERHUB_SERVICE_PREFIX"] == "/jupyter/services/hai/"
    assert c.HaiLocalSpawner.hai_url == "http://127.0.0.1:8123/jupyter"
    assert c.HaiLocalSpawner.hai_api_url == "http://127.0.0.1:21002/jupyter/services/hai/api/v1"
    hub = JupyterHub(config=c)
    assert (hub.base_url, hub.bind_url) == ("/jupyter/", "http://127.0.0.1:8123/jupyter/")
    assert "base_url" not in c.JupyterHub, "beside a bind_url JupyterHub would listen on all addresses"
    elsewhere = Config()
    elsewhere.JupyterHub.port = 9000
    assert installed(settings, elsewhere).bind_url == "http://127.0.0.1:9000/"
    assert elsewhere.HaiLocalSpawner.hai_url == "http://127.0.0.1:9000"
    by_url = Config()
    by_url.JupyterHub.bind_url = "http://127.0.0.1:9000/jupyter"
    install(by_url, settings)
    assert by_url.HaiLocalSpawner.hai_api_url == c.HaiLocalSpawner.hai_api_url


def test_the_addresses_of_a_toml_file_are_those_of_the_settings(settings: HubSettings, tmp_path: Path) -> None:
    """`hai up` has read them; its options go before them."""
    file = tmp_path / "hub.toml"
    file.write_text('[JupyterHub]\nport = 9000\nbind_url = "http://0.0.0.0:9000/lab"\nhub_ip = "0.0.0.0"\n')
    hub = installed(replace(settings, overrides_file=file, base_url="/lab/", hub_ip="10.0.0.1"))
    assert (hub.bind_url, hub.base_url) == ("http://127.0.0.1:8123/lab/", "/lab/")
    assert hub.hub_bind_url == "http://10.0.0.1:21001"


def named(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    (found,) = (entry for entry in entries if entry["name"] == name)
    return found


def test_the_hubs_database_is_for_its_owner_alone(settings: HubSettings) -> None:
    database = settings.state_dir / "jupyterhub.sqlite"
    installed(settings)
    assert database.stat().st_mode & 0o777 == 0o600
    database.chmod(0o644)
    database.write_text("kept")
    installed(settings)
    assert database.stat().st_mode & 0o777 == 0o600
    assert database.read_text() == "kept"


def test_a_database_elsewhere_is_left_alone(settings: HubSettings) -> None:
    c = Config()
    c.JupyterHub.db_url = "sqlite://"
    assert installed(settings, c).db_url == "sqlite://"
    assert not (settings.state_dir / "jupyterhub.sqlite").exists()


def test_the_hub_does_not_tell_which_versions_run(settings: HubSettings) -> None:
    assert installed(settings).tornado_settings["headers"] == {"Server": "JupyterHub"}


def test_the_cookies_of_the_hub_and_of_servers_do_not_come_with_requests_of_other_sites(settings: HubSettings) -> None:
    assert installed(settings).tornado_settings["cookie_options"] == {"samesite": "Lax"}


def test_servers_are_told_where_environments_are(settings: HubSettings) -> None:
    c = Config()
    installed(replace(settings, haienv_root=Path("/envs")), c)
    assert c.HaiLocalSpawner.haienv_root == "/envs"
    kept = Config()
    kept.HaiLocalSpawner.haienv_root = "/shared/envs"
    installed(replace(settings, haienv_root=Path("/envs")), kept)
    assert kept.HaiLocalSpawner.haienv_root == "/shared/envs"
