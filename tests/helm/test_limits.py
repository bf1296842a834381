"""What pods may take of their nodes, and what each user may hold of the cluster."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hai_client.quantity import parse_quantity
from hai_scheduler.app.config import HaiScheduler
from kit.helm.matrix import MATRIX
from kit.helm.rendering import Object, Render

ALL = pytest.mark.parametrize("values", MATRIX.values(), ids=MATRIX.keys())
BOUND = ("memory", "ephemeral-storage")


@ALL
def test_every_container_of_the_platform_has_limits_and_requests_less(render: Render, values: dict[str, Any]) -> None:
    for name, pod in render(values).pods():
        for container in [*pod.get("initContainers", []), *pod["containers"]]:
            resources = container["resources"]
            for what in BOUND:
                asked, most = (parse_quantity(resources[kind][what]) for kind in ("requests", "limits"))
                assert 0 < asked < most, (name, container["name"], what)


@ALL
def test_no_folder_of_a_pod_grows_without_end(render: Render, values: dict[str, Any]) -> None:
    for name, pod in render(values).pods():
        most = sum(parse_quantity(entry["resources"]["limits"]["ephemeral-storage"]) for entry in pod["containers"])
        for volume in pod["volumes"]:
            if "emptyDir" in volume:
                assert 0 < parse_quantity(volume["emptyDir"]["sizeLimit"]) <= most, (name, volume["name"])


def quota(render: Render, **given: Any) -> Object:
    made: Object = render({"workloads": {"resourceQuota": {"enabled": True, **given}}}).one(
        "ResourceQuota", "workloads"
    )
    return made


def test_the_namespace_of_the_workloads_has_no_quota_and_no_defaults_unless_set(render: Render) -> None:
    made = render({})
    assert made.all("ResourceQuota") == made.all("LimitRange") == []


def test_a_quota_counts_objects_and_never_what_a_gang_would_have_to_wait_for(render: Render) -> None:
    made = quota(render)
    assert made["metadata"]["namespace"] == "platform-work"
    hard = made["spec"]["hard"]
    assert {"count/pods", "count/services", "count/secrets", "persistentvolumeclaims"} <= hard.keys()
    assert all(isinstance(most, str) and int(most) > 0 for most in hard.values())
    assert not [name for name in hard if name.startswith(("requests.", "limits.", "cpu", "memory"))]


def test_an_admins_own_counts_are_added(render: Render) -> None:
    hard = quota(render, hard={"count/pods": 20000, "count/jobs.batch": "0"})["spec"]["hard"]
    assert (hard["count/pods"], hard["count/jobs.batch"], hard["count/secrets"]) == ("20000", "0", "5000")


def test_defaults_are_for_containers_that_say_nothing(render: Render) -> None:
    made = render({"workloads": {"limitRange": {"enabled": True}}}).one("LimitRange", "workloads")
    (limit,) = made["spec"]["limits"]
    assert limit["type"] == "Container"
    assert set(BOUND) <= limit["default"].keys()
    assert "max" not in limit, "a rank may have a whole node"


@pytest.mark.parametrize(
    ("scheduler", "nodes"),
    [
        ({}, 4),
        ({"defaultQuota": 0}, 0),
        ({"defaultQuota": 64}, 64),
        ({"config": {"HaiScheduler": {"default_quota": "all"}}}, None),
    ],
    ids=["the default", "nothing", "a number", "all"],
)
def test_what_all_users_may_hold_is_what_the_values_say(
    render: Render, tmp_path: Any, scheduler: dict[str, Any], nodes: int | None
) -> None:
    file = tmp_path / "config.json"
    file.write_text(render({"scheduler": scheduler}).one("ConfigMap", "scheduler")["data"]["config.json"])
    assert json.loads(file.read_text())["HaiScheduler"]["cluster"] == "kubernetes"
    settings = HaiScheduler().settings(
        ["--role", "loop", "--config", str(file), "--KubernetesSettings.api_url=http://hai"]
    )
    assert settings.service.default_quota == nodes
