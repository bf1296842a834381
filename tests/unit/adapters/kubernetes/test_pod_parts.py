"""Parts of a rank's pod: where it may run, what it may do, what it sees."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from hai_scheduler.adapters.kubernetes.pod_parts import (
    HAI,
    LOG,
    SHM,
    SPEC,
    Volumes,
    placement,
    variables,
)
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.core.workspace.mounts import Mount, MountKind
from kit.builders import a_fabric, a_launch
from unit.adapters.kubernetes.things import capacity, some_settings

DATA = Mount(kind=MountKind.PVC, source="datasets", sub_path="alice", mount_path="/data")
SHARED = Mount(kind=MountKind.PVC, source="datasets", sub_path="shared", mount_path="/shared")
LOCAL = Mount(kind=MountKind.HOST_PATH, source="datasets", mount_path="/local", read_only=False)


def test_a_pod_is_bound_to_its_node_by_the_scheduler_or_directly() -> None:
    (term,) = placement("node-1", some_settings())["affinity"]["nodeAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]["nodeSelectorTerms"]
    assert term["matchFields"] == [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]
    assert placement("node-1", some_settings(binding="direct")) == {"nodeName": "node-1"}


def env(gpus: int = 8, **settings: Any) -> dict[str, Any]:
    launch = a_launch(grace=timedelta(seconds=300))
    return {one["name"]: one.get("value") for one in variables(launch, 3, gpus, some_settings(**settings))}


def test_a_supervisor_is_told_which_rank_it_is_where_and_how_long_it_has() -> None:
    assert env() == {
        "HAI_RANK": "3", "HAI_GPUS": "8", "HAI_TERMINATION_GRACE": "315", "HAI_NODE_NAME": None, "HAI_POD_IP": None,
    }  # fmt: skip
    told = variables(a_launch(), 0, 1, some_settings())[-2:]
    assert [(one["name"], one["valueFrom"]["fieldRef"]["fieldPath"]) for one in told] == [
        ("HAI_NODE_NAME", "spec.nodeName"),
        ("HAI_POD_IP", "status.podIP"),
    ]


def test_a_pod_without_gpus_is_told_to_see_none() -> None:
    assert (env(gpus=0)["HAI_GPUS"], env(gpus=0)["NVIDIA_VISIBLE_DEVICES"]) == ("0", "void")
    assert "NVIDIA_VISIBLE_DEVICES" not in env(gpus=1)


def test_a_supervisor_is_told_of_a_folder_for_its_log_where_there_is_one() -> None:
    assert "HAI_LOG_DIR" not in env()
    assert env(log_claim="logs")["HAI_LOG_DIR"] == LOG


# -- volumes --------------------------------------------------------------------------------------------


def of(*mounts: Mount, rank: int = 0, **settings: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Volumes by name, and the platform's mounts by path."""
    made = Volumes(a_launch(4, 2, mounts=mounts, nodes=["n"] * 8), rank, capacity(), some_settings(**settings))
    assert {mount["name"] for mount in made.mounts} == {volume["name"] for volume in made.volumes}
    return {volume["name"]: volume for volume in made.volumes}, {mount["mountPath"]: mount for mount in made.mounts}


def test_every_pod_has_the_platforms_folder_its_order_and_shared_memory() -> None:
    volumes, mounts = of()
    assert list(mounts) == [HAI, SPEC, SHM]
    assert volumes["hai-spec"]["secret"] == {"secretName": "hai-4-2", "defaultMode": 0o444}
    assert mounts[SPEC]["readOnly"]
    assert volumes["shm"]["emptyDir"] == {
        "medium": "Memory",
        "sizeLimit": ClusterSettings(namespace="n", api_url="u").shm_size,
    }
    assert of(shm_size="")[0]["shm"]["emptyDir"] == {"medium": "Memory"}


@pytest.mark.parametrize(
    ("gpus", "shm_bytes", "size"),
    [((), 2**36, "65536Mi"), (((1, 4),), 2**36, "16384Mi"), ((), 0, "1Gi"), (((1, 4),), 0, "1Gi")],
    ids=["whole node", "two GPUs of eight", "no word of it", "two GPUs and no word"],
)
def test_shared_memory_is_as_large_as_the_fabric_says_by_the_share_of_the_node(gpus, shm_bytes, size) -> None:
    launch = a_launch(gpus=gpus, fabric=a_fabric(shm_bytes=shm_bytes))
    made = Volumes(launch, 0, capacity(gpus=8), some_settings(shm_size="1Gi"))
    (shm,) = [volume for volume in made.volumes if volume["name"] == "shm"]
    assert shm["emptyDir"]["sizeLimit"] == size


def test_the_platforms_folder_holds_the_log_that_is_kept_twice() -> None:
    volumes, _ = of(log_max_bytes=4 * 1024**3)
    assert volumes["hai"]["emptyDir"] == {"sizeLimit": f"{8 * 1024 + 512}Mi"}


def test_the_client_comes_from_a_config_map_where_one_is_named() -> None:
    volumes, mounts = of(client_config_map="hai-client")
    assert volumes["hai-client"]["configMap"] == {"name": "hai-client", "defaultMode": 0o444}
    seen = mounts[f"{HAI}/hai.pyz"]
    assert (seen["readOnly"], seen["subPath"]) == (True, "hai.pyz")


def test_a_rank_sees_its_own_log_folder_alone() -> None:
    volumes, mounts = of(rank=5, log_claim="logs")
    assert volumes["hai-log"]["persistentVolumeClaim"] == {"claimName": "logs"}
    assert mounts[LOG]["subPath"] == "4.2/5"


def test_the_same_source_is_one_volume() -> None:
    volumes, mounts = of(DATA, SHARED)
    claims = [name for name, volume in volumes.items() if "persistentVolumeClaim" in volume]
    assert len(claims) == 1
    assert [(path, mounts[path]["subPath"]) for path in ("/data", "/shared")] == [
        ("/data", "alice"),
        ("/shared", "shared"),
    ]


def test_a_folder_of_a_node_and_a_claim_of_the_same_name_are_two_volumes() -> None:
    volumes, mounts = of(DATA, LOCAL)
    local = mounts["/local"]
    assert volumes[local["name"]]["hostPath"] == {"path": "datasets", "type": "Directory"}
    assert "subPath" not in local
    assert (local["readOnly"], mounts["/data"]["readOnly"]) == (False, True)


@pytest.mark.parametrize("binding", ["affinity", "direct"])
def test_how_a_pod_is_bound_changes_nothing_of_what_it_sees(binding: str) -> None:
    assert of(DATA, binding=binding) == of(DATA)


def mounts_of_environments(**launch: Any) -> list[tuple[str, str | None, bool]]:
    settings = some_settings(haienv_claim="envs", haienv_root="/envs", haienv_image="lab:1")
    made = Volumes(a_launch(**launch), 0, capacity(), settings)
    assert all(mount["subPath"] == mount["mountPath"][6:] for mount in made.mounts if "/envs/" in mount["mountPath"])
    return [
        (one["mountPath"], one.get("subPath"), one.get("readOnly", False))
        for one in made.mounts
        if one["name"] == "haienv"
    ]


def test_a_rank_is_shown_the_folders_of_environments_that_its_order_names_and_no_other() -> None:
    assert mounts_of_environments() == [("/envs", None, True)]
    assert mounts_of_environments(haienv_reads=("base", "users/ann")) == [
        ("/envs/base", "base", True),
        ("/envs/users/ann", "users/ann", True),
    ]
    assert mounts_of_environments(haienv_reads=()) == []


def test_a_build_writes_one_of_them() -> None:
    assert mounts_of_environments(haienv_reads=("base", "references", "users/ann"), haienv_writes="users/ann") == [
        ("/envs/base", "base", True),
        ("/envs/references", "references", True),
        ("/envs/users/ann", "users/ann", False),
    ]
