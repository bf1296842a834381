"""Adding the culler to a Hub's configuration, and having the spawner check its own part of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jupyterhub.scopes import scope_definitions
from traitlets.config import Config

from hai_hub.config import roles
from hai_hub.config.settings import HubSettings
from hai_hub.config.spawner_check import check_spawner
from hai_hub.culler.setup import install_culler
from hai_hub.install import install


def configured(c: Config, tmp_path: Path) -> bool:
    return install_culler(
        c,
        service_url="http://hub:8083",
        bind=("", 8083),
        public_url="http://proxy/base/",
        api_url="http://s/api/v1",
        state_file=tmp_path / "culler.json",
    )


def test_nothing_is_added_unless_it_is_wanted(tmp_path: Path) -> None:
    c = Config()
    assert not configured(c, tmp_path)
    assert c == Config()


def test_the_service_is_added_with_its_terms_and_no_secret(tmp_path: Path) -> None:
    c = Config()
    c.HaiCulling.enabled = True
    c.HaiCulling.keep = ["tasks", "terminals"]
    c.HaiLocalSpawner.sizes = {"gpu": {"cpu": 1, "memory": 1, "lifetime": "6h"}}
    c.Spawner.server_token_scopes = list(roles.SERVER_SCOPES)
    assert configured(c, tmp_path)
    (entry,) = c.JupyterHub.services
    assert (entry["name"], entry["url"]) == ("hai-culler", "http://hub:8083")
    assert "api_token" not in entry
    assert entry["environment"]["HAI_CULLER_BIND"] == ":8083"
    assert json.loads(entry["environment"]["HAI_CULLER_TERMS"])["size:gpu"]["lifetime"] == 6 * 3600
    assert c.HaiSpawnerMixin.culler_url == "http://proxy/base/services/hai-culler"
    assert c.HaiSpawnerMixin.keep == ["terminals"]
    assert "access:services!service=hai-culler" in c.Spawner.server_token_scopes


def test_its_rights_are_the_fewest(tmp_path: Path) -> None:
    c = Config()
    c.HaiCulling.enabled = True
    configured(c, tmp_path)
    (role,) = c.JupyterHub.load_roles
    assert set(role["scopes"]) == {
        "list:users",
        "read:users:activity",
        "read:servers",
        "delete:servers",
        "access:services!service=hai",
        "custom:hai:active-users",
    }
    known = set(scope_definitions) | set(roles.CUSTOM_SCOPES)
    assert {scope.partition("!")[0] for scope in role["scopes"]} <= known


def test_an_administrators_function_for_the_servers_scopes_stays(tmp_path: Path) -> None:
    def scopes(_: Any) -> list[str]:
        return []

    c = Config()
    c.HaiCulling.enabled = True
    c.Spawner.server_token_scopes = scopes
    configured(c, tmp_path)
    assert c.Spawner.server_token_scopes is scopes


def test_a_hub_on_this_machine_has_it_when_it_is_wanted(settings: HubSettings) -> None:
    c = Config()
    c.HaiCulling.enabled = True
    install(c, settings)
    names = [entry["name"] for entry in c.JupyterHub.services]
    assert names == ["hai-loop", "hai", "hai-up", "hai-spawner", "hai-culler"]


@pytest.mark.parametrize(
    "spawner", ["hai_spawner.containers.local.HaiLocalSpawner", "hai-local"], ids=["by its path", "by its entry point"]
)
def test_a_wrong_size_is_told_when_the_hub_starts(spawner: str) -> None:
    c = Config()
    c.JupyterHub.spawner_class = spawner
    c.HaiSpawnerMixin.sizes = {"a": {"cpu": "much"}}
    with pytest.raises(ValueError, match=r"LocalSpawner\.sizes\['a'\]\.cpu is 'much'"):
        check_spawner(c)


@pytest.mark.parametrize("spawner", ["simple", "nowhere.Spawner", "no-such-name", None])
def test_spawners_of_others_are_left_alone(spawner: str | None) -> None:
    c = Config()
    if spawner is not None:
        c.JupyterHub.spawner_class = spawner
    before = c.copy()
    check_spawner(c)
    assert c == before
