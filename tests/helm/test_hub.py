"""What the Hub makes of the chart's values, without a cluster: JupyterHub reads the configuration as in its pod."""

from __future__ import annotations

import base64
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jupyterhub.app import JupyterHub
from jupyterhub.crypto import CryptKeeper
from traitlets.config import Config

from hai_client.errors import Invalid
from hai_hub.cluster.chart_env import ChartEnv
from hai_hub.cluster.install import configure
from kit.helm.pods import ELSEWHERE, SPAWNER_TOKEN
from kit.helm.rendering import Render

Make = Callable[..., JupyterHub]


@pytest.fixture
def hub(chart_env: Callable[..., ChartEnv]) -> Make:
    def make(values: dict[str, Any] | None = None) -> JupyterHub:
        c = Config()
        configure(c, chart_env(values))
        return JupyterHub(config=c)

    return make


def named(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    (found,) = (entry for entry in entries if entry["name"] == name)
    return found


def test_the_defaults_make_a_hub_on_kubernetes_that_lets_no_user_in(hub: Make) -> None:
    made = hub()
    assert made.proxy_class.__name__ == "ConfigurableHTTPProxy"
    assert made.spawner_class.__name__ == "HaiSpotKubeSpawner"
    assert made.authenticator_class.__name__ == "NullAuthenticator"
    assert made.hub_bind_url == "http://:8081"
    assert made.hub_connect_url == "http://hub.platform.svc:8081"
    assert re.fullmatch(r"postgresql\+psycopg://hub:\w{48}@postgresql\.platform\.svc:5432/jupyterhub", made.db_url)
    assert made.config.ConfigurableHTTPProxy.should_start is False
    assert made.config.ConfigurableHTTPProxy.api_url == "http://proxy-api.platform.svc:8001"
    assert made.cleanup_servers is False


def test_the_hub_starts_the_scheduler_with_what_it_needs(hub: Make) -> None:
    service, loop = (named(hub().services, name) for name in ("hai", "hai-loop"))
    assert service["url"] == "http://scheduler.platform.svc:8082"
    assert "url" not in loop
    assert (loop["command"][5], service["command"][5]) == ("loop", "api")
    assert loop["command"][6:] == service["command"][6:]
    assert loop["environment"] == service["environment"]
    assert service["command"] == [
        sys.executable,
        "-P",
        "-m",
        "hai_scheduler",
        "--role",
        "api",
        "--config=/etc/hai/scheduler/config.json",
        "--KubernetesSettings.api_url=http://scheduler.platform.svc:8082/services/hai/api/v1",
    ]
    environ = service["environment"]
    assert environ["HAI_DB_URL"].startswith("postgresql://scheduler@")
    assert not [name for name in environ if name.startswith(("JPY_", "CONFIGPROXY_", "JUPYTERHUB_", "HAI_HUB_"))]
    held = [Path(environ[name]).read_text() for name in ("HAI_SERVICE_SECRET_FILE", "HAI_DB_PASSWORD_FILE")]
    assert [len(secret) for secret in held] == [64, 48]
    for secret in held:
        assert not [part for part in [*service["command"], *environ.values()] if secret in part]


def test_what_jupyterhub_would_look_for_in_its_environment_comes_from_files(
    hub: Make, render: Render, chart_env: Callable[..., ChartEnv]
) -> None:
    made, secrets = hub(), render(None).one("Secret", "hub")["data"]

    def kept(key: str) -> str:
        return base64.b64decode(secrets[key]).decode()

    assert made.config.ConfigurableHTTPProxy.auth_token == kept("proxy-token")
    assert made.cookie_secret.hex() == kept("cookie-secret")
    assert CryptKeeper(config=made.config).keys == [bytes.fromhex(kept("crypt-key"))]


def test_a_secret_that_does_not_exist_is_named(chart_env: Callable[..., ChartEnv], tmp_path: Path) -> None:
    environ = {"JPY_COOKIE_SECRET_FILE": str(tmp_path / "absent")}
    with pytest.raises(Invalid, match=r"JPY_COOKIE_SECRET_FILE: .*absent cannot be read"):
        chart_env(more=environ)


def test_the_database_of_another_secret_is_read_from_its_file(hub: Make) -> None:
    assert hub({"hub": {"db": {"type": "postgres", "existingSecret": {"name": "x"}}}}).db_url == ELSEWHERE


def test_a_separate_scheduler_is_a_service_that_the_hub_does_not_start(hub: Make) -> None:
    services = hub({"scheduler": {"separate": True}}).services
    service = named(services, "hai")
    assert "command" not in service
    assert "hai-loop" not in [entry["name"] for entry in services]
    assert service["api_token"]


def test_tokens_are_the_ones_of_the_secret(hub: Make) -> None:
    services = hub().services
    tokens = [named(services, name)["api_token"] for name in ("hai", "hai-spawner", "hai-metrics")]
    assert tokens[1] == SPAWNER_TOKEN
    assert len(set(tokens)) == 3


def test_administrators_of_the_hub_administer_hai(hub: Make) -> None:
    config = {"Authenticator": {"admin_users": ["ann"]}, "GitHubOAuthenticator": {"admin_groups": ["ops"]}}
    role = named(hub({"hub": {"config": config}}).load_roles, "hai-admin")
    assert (role["users"], role["groups"]) == (["ann"], ["ops"])
    assert "custom:hai:admin" in role["scopes"]


def test_services_may_do_what_they_are_for_and_no_more(hub: Make) -> None:
    roles = {role["name"]: set(role["scopes"]) for role in hub().load_roles if role.get("services")}
    assert roles["hai-spawner"] == {"access:services!service=hai", "custom:hai:containers"}
    assert roles["hai-metrics"] == {"access:services!service=hai", "custom:hai:metrics", "read:metrics"}
    assert not any(scope.startswith("admin") for scopes in roles.values() for scope in scopes)


def test_what_the_administrator_writes_wins(hub: Make) -> None:
    made = hub(
        {
            "hub": {
                "config": {
                    "JupyterHub": {"authenticator_class": "dummy", "hub_connect_url": "http://elsewhere:1"},
                    "KubeSpawner": {"image": "mine:1"},
                },
                "services": {"mine": {"url": "http://mine", "apiToken": "x" * 32}},
                "loadRoles": {"hai-admin": {"scopes": ["custom:hai:admin"], "groups": ["ops"]}},
            }
        }
    )
    assert made.authenticator_class.__name__ == "DummyAuthenticator"
    assert made.hub_connect_url == "http://elsewhere:1"
    assert made.config.KubeSpawner.image == "mine:1"
    assert named(made.services, "mine")["api_token"] == "x" * 32
    assert named(made.load_roles, "hai-admin")["groups"] == ["ops"]


def test_extra_configuration_runs_last_in_the_order_of_its_names(hub: Make) -> None:
    scripts = {"20-b": "c.JupyterHub.base_url = c.JupyterHub.base_url + 'b/'", "10-a": "c.JupyterHub.base_url = '/a/'"}
    assert hub({"hub": {"extraConfig": scripts}}).base_url == "/a/b/"


def test_users_servers_are_as_the_values_say(hub: Make) -> None:
    made = hub(
        {
            "imageRegistry": "registry.example.org/hai",
            "singleuser": {
                "cpu": {"limit": 2},
                "extraEnv": {"A": "b"},
                "memory": {"guarantee": "2G"},
                "nodeSelector": {"pool": "jupyter"},
                "sizes": {"small": {"cpu": 1, "memory": "1Gi"}},
                "storage": {"dynamic": {"storageClass": "fast"}, "extraLabels": {"team": "x"}},
            },
        }
    )
    config = made.config.KubeSpawner
    assert config.image == "registry.example.org/hai/hai-singleuser:0.1.0"
    assert config.namespace == "platform-work"
    assert (config.cpu_limit, config.mem_guarantee, config.environment) == (2, "2G", {"A": "b"})
    assert (config.storage_class, config.storage_capacity) == ("fast", "10Gi")
    assert config.volume_mounts == [{"name": "volume-{user_server}", "mountPath": "/home/jovyan"}]
    assert config.common_labels == {"app": "jupyterhub", "release": "hai"}
    assert list(made.config.HaiKubeSpawner.sizes) == ["small"]
    assert made.config.HaiKubeSpawner.hai_url == "http://proxy-public.platform.svc"
    assert "automount_service_account_token" not in config


def test_a_server_has_limits_unless_they_are_taken_away(hub: Make) -> None:
    config = hub().config.KubeSpawner
    assert (config.mem_guarantee, config.mem_limit) == ("1G", "8G")
    assert config.extra_resource_limits == {"ephemeral-storage": "20Gi"}
    assert config.extra_resource_guarantees == {"ephemeral-storage": "256Mi"}
    own = {"memory": {"limit": None}, "extraResource": {"limits": {"nvidia.com/gpu": 1}}}
    config = hub({"singleuser": own}).config.KubeSpawner
    assert "mem_limit" not in config
    assert config.extra_resource_limits == {"ephemeral-storage": "20Gi", "nvidia.com/gpu": 1}


def test_an_image_may_be_named_by_its_digest(hub: Make) -> None:
    digest = "sha256:" + "0" * 64
    assert hub({"singleuser": {"image": {"digest": digest}}}).config.KubeSpawner.image == f"hai-singleuser@{digest}"


def test_one_claim_for_all_homes(hub: Make) -> None:
    storage = {
        "type": "static",
        "static": {"pvcName": "homes"},
        "extraVolumes": {"b": {"name": "b"}, "a": {"name": "a"}},
    }
    config = hub({"singleuser": {"storage": storage}}).config.KubeSpawner
    assert config.storage_pvc_ensure is False
    assert config.volumes == [
        {"name": "home", "persistentVolumeClaim": {"claimName": "homes"}},
        {"name": "a"},
        {"name": "b"},
    ]
    assert config.volume_mounts[0]["subPath"] == "{username}"


def test_a_wrong_size_ends_the_hub_at_its_start(hub: Make) -> None:
    with pytest.raises(ValueError, match=r"sizes.*big"):
        hub({"singleuser": {"sizes": {"big": {"cpu": -1, "memory": "1Gi"}}}})


def test_unused_servers_end_unless_that_is_off(hub: Make) -> None:
    service = named(hub({"cull": {"timeout": 60, "maxAge": 0}}).services, "hai-culler")
    assert service["url"] == "http://hub.platform.svc:8083"
    assert '"idle": 60.0' in service["environment"]["HAI_CULLER_TERMS"]
    assert "hai-culler" not in [entry["name"] for entry in hub({"cull": {"enabled": False}}).services]


def test_secrets_are_not_shown_by_what_is_printed(chart_env: Callable[..., ChartEnv]) -> None:
    around = chart_env()
    shown = repr(around)
    for secret in (around.db_url, around.service_token, around.metrics_token):
        assert secret not in shown


def test_a_missing_variable_is_named(chart_env: Callable[..., ChartEnv]) -> None:
    with pytest.raises(ValueError, match="HAI_RELEASE is not set"):
        ChartEnv.of({}, chart_env().values)


def test_servers_get_the_volume_of_environments(hub: Make, chart_env: Callable[..., ChartEnv]) -> None:
    made = hub({"workloads": {"namespace": "platform"}, "haienv": {"enabled": True, "makersGid": 70000}})
    own, kube = made.config.HaiKubeSpawner, made.config.KubeSpawner
    assert (own.haienv_claim, own.haienv_root, own.haienv_makers) == ("haienv", "/haienv", 70000)
    assert own.haienv_init_image == f"hai-singleuser:{chart_env().version}"
    assert own.haienv_readable == "own", "not all of the volume, as all pods have one account"
    everything = hub({"workloads": {"namespace": "platform"}, "haienv": {"enabled": True, "readable": "all"}})
    assert everything.config.HaiKubeSpawner.haienv_readable == "all"
    assert kube.environment["UV_PYTHON_PREFERENCE"] == "only-managed"
    assert "haienv_claim" not in hub().config.HaiKubeSpawner
