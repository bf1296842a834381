"""Who the processes of a rank's pod are."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hai_scheduler.adapters.kubernetes import manifests
from hai_scheduler.adapters.kubernetes.account import VOLUME, pod_security
from hai_scheduler.adapters.kubernetes.resources import capacity_of
from hai_scheduler.adapters.kubernetes.shared_logs import make_folders
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.workspace.identity import Identity, UnixGroup
from hai_scheduler.core.workspace.mounts import Mount, MountKind
from hai_scheduler.core.workspace.passwd import AccountTable
from kit import schemas
from kit.builders import a_launch, a_pin
from kit.pod_security import faults
from unit.adapters.kubernetes.things import OWNER, a_kube_node, capacity, some_settings

ADA = Identity(
    name="ada",
    uid=20017,
    groups=(UnixGroup(gid=20017), UnixGroup(gid=3100, name="cv"), UnixGroup(gid=3200, name="nlp")),
    home="/home/ada",
)
ALONE = replace(ADA, groups=(UnixGroup(gid=20017),))
HOME = Mount(kind=MountKind.PVC, source="homes", sub_path="ada", mount_path="/home/ada", read_only=False)
WITH_ENVIRONMENTS = some_settings(
    haienv_claim="haienv", haienv_root="/envs", haienv_image="lab:1", haienv_local_claim="copies"
)
#: Every kind of pod that the service makes, with an account of the user's own.
KINDS: dict[str, dict[str, Any]] = {
    "task": manifests.pod(a_launch(identity=ADA), 0, capacity(), some_settings(), OWNER),
    "task with a home": manifests.pod(a_launch(identity=ADA, mounts=(HOME,)), 0, capacity(), some_settings(), OWNER),
    "task without other groups": manifests.pod(a_launch(identity=ALONE), 0, capacity(), some_settings(), OWNER),
    "spot container": manifests.pod(
        a_launch(identity=ADA, command=("python3", "-m", "hai_client.spot")), 0, capacity(), some_settings(), OWNER
    ),
    "build": manifests.pod(
        a_launch(identity=ADA, haienv_writes="users/ada", image="lab:1"), 0, capacity(), WITH_ENVIRONMENTS, OWNER
    ),
    "build for a group": manifests.pod(
        a_launch(
            identity=Identity(name="hai-build", uid=1000, groups=(UnixGroup(gid=100),)),
            haienv_writes="groups/cv",
            folders_of="1000",
        ),
        0,
        capacity(),
        WITH_ENVIRONMENTS,
        OWNER,
    ),
    "task with a copy of its environment": manifests.pod(
        a_launch(identity=ADA, haienv=a_pin(), env={"HAI_VENV": "/envs/x"}), 0, capacity(), WITH_ENVIRONMENTS, OWNER
    ),
    "task with its log on a volume": manifests.pod(
        a_launch(identity=ADA), 0, capacity(), some_settings(log_claim="logs", log_dir=Path("/logs")), OWNER
    ),
}
EVERY = pytest.mark.parametrize("kind", KINDS)


@EVERY
def test_every_pod_with_an_account_is_restricted(kind: str) -> None:
    assert faults(KINDS[kind]) == []


@EVERY
def test_every_pod_with_an_account_is_strictly_valid(kind: str) -> None:
    schemas.check(KINDS[kind])


@EVERY
def test_no_volume_is_given_to_a_group(kind: str) -> None:
    assert "fsGroup" not in json.dumps(KINDS[kind])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith(("task", "spot"))])
def test_a_pod_is_its_user_with_all_groups(kind: str) -> None:
    context = KINDS[kind]["spec"]["securityContext"]
    assert (context["runAsUser"], context["runAsGroup"]) == (20017, 20017)
    assert context.get("supplementalGroups", []) == ([] if "without other" in kind else [3100, 3200])


@EVERY
def test_programs_find_the_account_in_the_files_that_they_read(kind: str) -> None:
    pod = KINDS[kind]
    (volume,) = (one for one in pod["spec"]["volumes"] if one["name"] == VOLUME)
    (container,) = pod["spec"]["containers"]
    shown = {}
    for item in volume["downwardAPI"]["items"]:
        key = item["fieldRef"]["fieldPath"].removeprefix("metadata.annotations['").removesuffix("']")
        shown[item["path"]] = pod["metadata"]["annotations"][key]
    seen = {mount["mountPath"]: mount["subPath"] for mount in container["volumeMounts"] if mount["name"] == VOLUME}
    assert seen == {"/etc/passwd": "passwd", "/etc/group": "group"}
    context = pod["spec"]["securityContext"]
    name = "hai-build" if kind == "build for a group" else "ada"
    account = AccountTable.parse(shown["passwd"], shown["group"]).of(name)
    assert (account.uid, account.gid) == (context["runAsUser"], context["runAsGroup"])
    assert list(account.others) == context.get("supplementalGroups", [])
    assert account.home == ("/home/ada" if kind == "task with a home" else "/tmp")


def test_home_is_the_accounts_where_a_mount_shows_it_and_the_users_own_word_wins() -> None:
    def home(**fields: Any) -> Any:
        return manifests.spec(a_launch(**fields), some_settings())["env"].get("HOME")

    assert home() is None
    assert home(identity=ADA) == "/tmp"
    assert home(identity=ADA, mounts=(HOME,)) == "/home/ada"
    assert home(identity=ADA, mounts=(HOME,), env={"HOME": "/x"}) == "/x"


def test_images_that_must_have_their_own_files_keep_them() -> None:
    pod = manifests.pod(a_launch(identity=ADA), 0, capacity(), some_settings(account_files=False), OWNER)
    assert VOLUME not in json.dumps(pod)
    assert pod["spec"]["securityContext"]["runAsUser"] == 20017


def test_copies_on_nodes_belong_to_one_account_by_whom_they_are_started_first() -> None:
    containers = {one["name"]: one for one in KINDS["task with a copy of its environment"]["spec"]["initContainers"]}
    rights = containers["haienv-fetch"]["securityContext"]
    assert (rights["runAsUser"], rights["runAsGroup"]) == (1000, 100)


def test_groups_of_an_image_do_not_count_where_the_node_can_say_so() -> None:
    node = a_kube_node()
    node["status"]["features"] = {"supplementalGroupsPolicy": True}
    there = capacity_of(node, ("nvidia.com/gpu",))
    launch = a_launch(identity=ADA)
    assert pod_security(launch, there, some_settings())["supplementalGroupsPolicy"] == "Strict"
    assert "supplementalGroupsPolicy" not in pod_security(launch, capacity(), some_settings())
    assert "supplementalGroupsPolicy" not in pod_security(a_launch(), there, some_settings())


def test_without_an_account_of_its_users_a_pod_is_the_account_of_the_settings() -> None:
    context = pod_security(a_launch(), capacity(), some_settings(run_as_user=2000, run_as_group=300))
    assert (context["runAsNonRoot"], context["runAsUser"], context["runAsGroup"], context["fsGroup"]) == (
        True, 2000, 300, 300,
    )  # fmt: skip


def test_the_secret_of_a_run_can_be_read_by_any_account() -> None:
    volumes = {one["name"]: one for one in KINDS["task"]["spec"]["volumes"]}
    assert volumes["hai-spec"]["secret"]["defaultMode"] == 0o444


def test_the_folder_of_a_log_is_made_for_any_account_before_the_kubelet_makes_it_for_root(tmp_path: Path) -> None:
    for _ in range(2):
        make_folders(tmp_path, RunId("7.1"), 2)
    modes = {str(path.relative_to(tmp_path)): path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    assert modes == {"7.1": 0o755, "7.1/0": 0o777, "7.1/1": 0o777}
