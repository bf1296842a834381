"""Pods of builds of environments: what they may write of the cluster's volume, and who makes the folder."""

from __future__ import annotations

from typing import Any

import pytest

from hai_scheduler.adapters.kubernetes import manifests
from hai_scheduler.core.workspace.identity import Identity, UnixGroup
from hai_scheduler.core.workspace.mounts import Mount, MountKind
from hai_scheduler.ports.cluster import LaunchOrder
from kit import schemas
from kit.builders import a_launch
from unit.adapters.kubernetes.things import OWNER, capacity, some_settings

SETTINGS = some_settings(
    haienv_claim="haienv", haienv_root="/envs", haienv_image="lab:1", haienv_build_variables={"UV_OFFLINE": "1"}
)
BUILDER = Identity(name="hai-build", uid=1001, groups=(UnixGroup(gid=100),))
ROOT = {"name": "haienv", "mountPath": "/envs", "readOnly": True}


def pod_of(launch: LaunchOrder) -> dict[str, Any]:
    pod = manifests.pod(launch, 0, capacity(), SETTINGS, OWNER)
    schemas.check(pod)
    spec: dict[str, Any] = pod["spec"]
    return spec


def seen(container: dict[str, Any]) -> list[dict[str, Any]]:
    return [mount for mount in container["volumeMounts"] if mount["name"] == "haienv"]


def makers(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in spec.get("initContainers", []) if one["name"] == "haienv-init"]


@pytest.mark.parametrize("owner", ["users/ann", "groups/cv", "base"])
def test_a_build_writes_the_folder_of_its_owner_and_no_other(owner: str) -> None:
    spec = pod_of(a_launch(haienv_writes=owner))
    (container,) = spec["containers"]
    assert seen(container) == [ROOT, {"name": "haienv", "mountPath": f"/envs/{owner}", "subPath": owner}]
    (volume,) = [one for one in spec["volumes"] if one["name"] == "haienv"]
    # A volume that is read-only would make the mount of the owner's folder read-only too.
    assert volume["persistentVolumeClaim"] == {"claimName": "haienv"}


@pytest.mark.parametrize(
    ("owner", "words", "folders"),
    [
        ("users/ann", ["--own-user", "ann"], ["users", "references/users"]),
        ("groups/cv", ["--own-group", "cv"], ["groups"]),
    ],
)
def test_the_folder_of_the_owner_is_made_before_by_the_platforms_image_and_never_as_root(
    owner: str, words: list[str], folders: list[str]
) -> None:
    spec = pod_of(a_launch(haienv_writes=owner, image="a-users:1", identity=BUILDER, env={"LD_PRELOAD": "evil.so"}))
    # The kubelet would make the folder for root: it is made before the container that mounts it.
    made = spec["initContainers"][0]
    assert makers(spec) == [made]
    assert (made["image"], made["command"]) == ("lab:1", ["haienv", "init", *words])
    assert {one["name"] for one in made["env"]} == {"HAIENV_ROOT", "HOME"}
    assert [one["mountPath"] for one in made["volumeMounts"][-2:]] == ["/etc/passwd", "/etc/group"]
    assert made["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsGroup": 60100,
        "readOnlyRootFilesystem": True,
    }
    assert seen(made)[0] == ROOT
    assert {one["mountPath"]: one["subPath"] for one in seen(made)[1:]} == {f"/envs/{one}": one for one in folders}
    # The account is the pod's, and the group is the init container's alone.
    assert (spec["securityContext"]["runAsUser"], spec["securityContext"]["runAsNonRoot"]) == (1001, True)
    assert "runAsGroup" not in spec["containers"][0]["securityContext"]
    assert 60100 not in spec["securityContext"].values()


def test_base_is_there_from_the_beginning() -> None:
    assert makers(pod_of(a_launch(haienv_writes="base"))) == []


def test_what_is_no_build_gets_nothing_of_it() -> None:
    # Its variables and words are a user's: they say nothing.
    launch = a_launch(command=("haienv", "install", "base/torch", "six"), env={"HAI_BUILD": "install base/torch"})
    spec = pod_of(launch)
    (container,) = spec["containers"]
    assert (seen(container), makers(spec)) == ([ROOT], [])
    (volume,) = [one for one in spec["volumes"] if one["name"] == "haienv"]
    assert volume["persistentVolumeClaim"] == {"claimName": "haienv", "readOnly": True}
    assert manifests.spec(launch, SETTINGS)["env"].keys() & {"UV_CACHE_DIR", "UV_OFFLINE", "LOGNAME"} == set()


def test_its_cache_is_in_the_folder_of_the_owner_unless_the_order_says_otherwise() -> None:
    env = manifests.spec(a_launch(user="ann", haienv_writes="groups/cv", env={"LOGNAME": "bob"}), SETTINGS)["env"]
    assert env == {"UV_CACHE_DIR": "/envs/groups/cv/.cache/uv", "UV_OFFLINE": "1", "LOGNAME": "bob"}


@pytest.mark.parametrize("place", ["/envs", "/envs/users/ann"])
def test_a_mount_rule_for_the_folder_goes_before_the_claim(place: str) -> None:
    # The service has made the folder of the owner writable in the mounts of the rule.
    own = Mount(kind=MountKind.PVC, source="own", mount_path="/envs/users/ann", read_only=False)
    rules = (own,) if place == own.mount_path else (Mount(kind=MountKind.PVC, source="e", mount_path=place), own)
    spec = pod_of(a_launch(haienv_writes="users/ann", mounts=rules))
    (container,) = spec["containers"]
    places = [mount["mountPath"] for mount in container["volumeMounts"]]
    assert sorted(places) == sorted(set(places)), "a pod with two mounts at one path is refused"
    assert seen(container) == ([ROOT] if place == own.mount_path else [])
    assert makers(spec) == []
