"""The chart's values for users' servers as settings of the spawner and the culler."""

from __future__ import annotations

from typing import Any

import pytest

from hai_hub.cluster.chart import Chart
from hai_hub.cluster.chart_env import ChartEnv
from hai_hub.cluster.servers import culling_traits, image, server_traits
from hai_hub.culler.settings import NEVER
from kit.helm.rendering import CHART

VARIABLES = {
    "HAI_RELEASE": "hai",
    "HAI_WORKLOADS_NAMESPACE": "work",
    "HAI_CHART_VERSION": "0.1.0",
    "HAI_HUB_URL": "http://hub:8081",
    "HAI_PROXY_API_URL": "http://proxy:8001",
    "HAI_PUBLIC_URL": "http://proxy",
    "HAI_SERVICE_URL": "http://scheduler:8082",
    "HAI_API_URL": "http://scheduler:8082/api",
    "HAI_HUB_DB_URL": "sqlite:///hub.sqlite",
    "HAI_SERVICE_TOKEN": "secret",
    "HAI_SPAWNER_TOKEN_FILE": "/token",
    "HAI_METRICS_TOKEN": "secret",
}


def merged(values: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    both = {
        name: merged(values[name], change) if isinstance(change, dict) and values.get(name) else change
        for name, change in changes.items()
    }
    return {**values, **both}


def around(singleuser: dict[str, Any] | None = None, **values: Any) -> ChartEnv:
    """What the Hub's pod knows with the chart's own values, changed as given."""
    return ChartEnv.of(VARIABLES, merged(dict(Chart(CHART).values), {"singleuser": singleuser or {}, **values}))


def kube(singleuser: dict[str, Any], **values: Any) -> dict[str, Any]:
    return server_traits(around(singleuser, **values))["KubeSpawner"]


@pytest.mark.parametrize(
    ("registry", "wanted", "found"),
    [
        ("", {"name": "lab", "tag": "1", "digest": ""}, "lab:1"),
        ("", {"name": "lab", "tag": "", "digest": ""}, "lab:0.1.0"),
        ("reg.example:5000", {"name": "lab", "tag": "1", "digest": ""}, "reg.example:5000/lab:1"),
        ("reg.example:5000", {"name": "quay.io/lab", "tag": "1", "digest": ""}, "quay.io/lab:1"),
        ("", {"name": "lab", "tag": "1", "digest": "sha256:ab"}, "lab@sha256:ab"),
    ],
)
def test_an_image_has_registry_and_tag_or_digest(registry: str, wanted: dict[str, str], found: str) -> None:
    assert image(around(imageRegistry=registry), wanted) == found


@pytest.mark.parametrize(("base", "url"), [("/", "http://proxy"), ("/hub/", "http://proxy/hub")])
def test_servers_reach_the_platform_below_its_base_url(base: str, url: str) -> None:
    own = server_traits(around(hub={"baseUrl": base}))["HaiKubeSpawner"]
    assert (own["hai_url"], own["hai_api_url"]) == (url, "http://scheduler:8082/api")
    assert (own["ask_scheduler"], own["scheduler_token_file"]) == (True, "/token")


def test_empty_values_leave_the_spawners_defaults() -> None:
    assert "node_selector" not in kube({"nodeSelector": {}})
    assert kube({"nodeSelector": {"disk": "ssd"}})["node_selector"] == {"disk": "ssd"}
    assert "cpu_limit" not in kube({"cpu": {"limit": None}})
    assert kube({"cpu": {"limit": 2}})["cpu_limit"] == 2


def test_a_service_account_brings_its_token() -> None:
    assert "automount_service_account_token" not in kube({"serviceAccountName": None})
    assert kube({"serviceAccountName": "lab"})["automount_service_account_token"] is True


def test_secrets_of_images_are_those_of_the_chart_and_of_the_servers() -> None:
    found = kube({"image": {"pullSecrets": ["two"]}}, imagePullSecrets=["one"])
    assert found["image_pull_secrets"] == ["one", "two"]


EXTRA = {"name": "data", "hostPath": {"path": "/data"}}
MOUNT = {"name": "data", "mountPath": "/data"}


@pytest.mark.parametrize("named", [False, True], ids=["a list", "by name"])
def test_a_home_of_its_own_comes_before_further_volumes(named: bool) -> None:
    volumes: Any = {"x": EXTRA} if named else [EXTRA]
    mounts: Any = {"x": MOUNT} if named else [MOUNT]
    found = kube(
        {
            "storage": {
                "type": "dynamic",
                "homeMountPath": "/home/me",
                "extraVolumes": volumes,
                "extraVolumeMounts": mounts,
                "dynamic": {"volumeNameTemplate": "home-volume"},
            }
        }
    )
    claim = {"claimName": "{pvc_name}"}
    assert found["volumes"] == [{"name": "home-volume", "persistentVolumeClaim": claim}, EXTRA]
    assert found["volume_mounts"] == [{"name": "home-volume", "mountPath": "/home/me"}, MOUNT]
    assert found["storage_pvc_ensure"] is True


@pytest.mark.parametrize("given", [False, True])
def test_classes_and_names_of_claims_are_the_clusters_unless_given(given: bool) -> None:
    storage = {"storageClass": "fast", "pvcNameTemplate": "claim-{username}"} if given else {}
    empty = {"storageClass": None, "pvcNameTemplate": None}
    found = kube({"storage": {"type": "dynamic", "dynamic": {**empty, **storage}}})
    assert found.get("storage_class") == ("fast" if given else None)
    assert found.get("pvc_name_template") == ("claim-{username}" if given else None)


def test_homes_may_be_folders_of_one_claim() -> None:
    static = {"pvcName": "homes", "subPath": "{username}"}
    found = kube({"storage": {"type": "static", "homeMountPath": "/home/me", "static": static}})
    assert found["volumes"] == [{"name": "home", "persistentVolumeClaim": {"claimName": "homes"}}]
    assert found["volume_mounts"] == [{"name": "home", "mountPath": "/home/me", "subPath": "{username}"}]
    assert found["storage_pvc_ensure"] is False
    with pytest.raises(ValueError, match=r"storage\.static\.pvcName is empty: name the claim"):
        kube({"storage": {"type": "static", "static": {**static, "pvcName": ""}}})


def test_without_storage_there_is_no_home() -> None:
    found = kube({"storage": {"type": "none", "extraVolumes": [], "extraVolumeMounts": []}})
    assert (found["volumes"], found["volume_mounts"], found["storage_pvc_ensure"]) == ([], [], False)


@pytest.mark.parametrize(
    ("timeout", "age", "idle", "lifetime"),
    [(3600, 0, "3600s", NEVER), (0, 86400, NEVER, "86400s"), (0, 0, NEVER, NEVER)],
)
def test_times_of_the_culler_are_texts_and_0_is_never(timeout: int, age: int, idle: str, lifetime: str) -> None:
    found = culling_traits({"enabled": True, "timeout": timeout, "maxAge": age})
    assert found == {"enabled": True, "idle": idle, "lifetime": lifetime}
