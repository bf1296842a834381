"""The volume of all environments in a server's pod: what is mounted for whom, and what makes the folders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from kubernetes_asyncio.client.models import (
    V1Container,
    V1ObjectMeta,
    V1Pod,
    V1PodSpec,
    V1SecurityContext,
    V1Volume,
    V1VolumeMount,
)

from hai_spawner.containers.haienv_volume import EnvironmentVolume, add_environments
from hai_spawner.containers.menu import Refusal, Why

VOLUME = EnvironmentVolume(
    claim="envs-claim", root="/envs", init_image="registry.example/init:1", pull_policy="Always", makers=60100
)


def a_server(*, mounts: Sequence[Any] | None = None, context: Any = None, **spec: Any) -> V1Pod:
    """The pod of a server with one container and a sidecar."""
    server = V1Container(name="notebook", volume_mounts=mounts, security_context=context)
    containers = [server, V1Container(name="sidecar")]
    return V1Pod(metadata=V1ObjectMeta(name="jupyter-ann"), spec=V1PodSpec(containers=containers, **spec))


def with_environments(pod: V1Pod, user: str = "ann", *groups: str, base: bool = False, **volume: Any) -> V1Pod:
    given = EnvironmentVolume(**{**{name: getattr(VOLUME, name) for name in VOLUME.__slots__}, **volume})
    add_environments(pod, given, user=user, groups=groups, builds_base=base)
    return pod


def writable(pod: V1Pod) -> list[str]:
    """The folders that the server may write to; each is mounted where it lies in the volume."""
    mounts = [mount for mount in pod.spec.containers[0].volume_mounts if mount.name == "haienv" and not mount.read_only]
    assert [mount.mount_path for mount in mounts] == [f"/envs/{mount.sub_path}" for mount in mounts]
    return [mount.sub_path for mount in mounts]


OWN = ["users/ann", "references/users/ann"]


@pytest.mark.parametrize(
    ("user", "groups", "base", "folders", "words"),
    [
        ("ann", (), False, OWN, ["--own-user", "ann"]),
        (
            "ann", ("nlp", "cv"), False, [*OWN, "groups/cv", "groups/nlp"],
            ["--own-user", "ann", "--own-group", "cv", "--own-group", "nlp"],
        ),
        ("ann", ("cv", "a:b", "..", "a/b", ""), False, [*OWN, "groups/cv"], ["--own-user", "ann", "--own-group", "cv"]),
        ("ann", (), True, [*OWN, "base"], ["--own-user", "ann"]),
        ("ann@site", ("cv",), False, ["groups/cv"], ["--own-group", "cv"]),
        ("../bob", (), False, [], None),
        ("a/b", (), False, [], None),
        ("ann@site", ("a:b",), True, ["base"], None),
    ],
    ids=[
        "alone", "in groups, in order", "in groups that haienv refuses", "an admin", "a member with an odd name",
        "steps up", "a path", "an admin with an odd name",
    ],
)  # fmt: skip
def test_a_server_reads_everything_and_writes_what_is_its_users(
    user: str, groups: tuple[str, ...], base: bool, folders: list[str], words: list[str] | None
) -> None:
    pod = with_environments(a_server(), user, *groups, base=base)
    (whole,) = [mount for mount in pod.spec.containers[0].volume_mounts if mount.read_only]
    assert (whole.name, whole.mount_path, whole.sub_path) == ("haienv", "/envs", None)
    assert writable(pod) == folders
    commands = [init.command for init in pod.spec.init_containers or []]
    assert commands == ([] if words is None else [["haienv", "init", *words]])
    assert pod.spec.containers[1].volume_mounts is None, "a sidecar sees nothing of it"


def test_what_the_pod_had_stays_and_the_folders_are_made_first() -> None:
    home = V1VolumeMount(name="home", mount_path="/home/ann")
    pod = a_server(mounts=[home], volumes=[V1Volume(name="home")], init_containers=[V1Container(name="other")])
    with_environments(pod)
    assert pod.spec.containers[0].volume_mounts[0] is home
    assert [volume.name for volume in pod.spec.volumes] == ["home", "haienv"]
    assert pod.spec.volumes[1].persistent_volume_claim.claim_name == "envs-claim"
    assert [init.name for init in pod.spec.init_containers] == ["haienv-init", "other"]


def test_the_whole_volume_is_mounted_before_the_folders_above_it() -> None:
    pod = with_environments(a_server(), "ann", "cv")
    paths = [mount.mount_path for mount in pod.spec.containers[0].volume_mounts]
    assert paths[0] == "/envs"


@pytest.mark.parametrize(
    ("context", "account"),
    [
        (None, None),
        (V1SecurityContext(run_as_user=4711), 4711),
        ({"runAsUser": 4711}, 4711),
        ({"run_as_user": 4711}, 4711),
        ({"runAsUser": 0, "run_as_user": 4711}, 0),
        ({}, None),
    ],
    ids=["none", "a model", "a dict", "a dict in Python's spelling", "a dict in both", "an empty dict"],
)
def test_the_folders_are_made_as_the_servers_account_and_never_as_root(context: Any, account: int | None) -> None:
    (init,) = with_environments(a_server(context=context)).spec.init_containers
    rights = init.security_context
    assert (rights.run_as_user, rights.run_as_group, rights.run_as_non_root) == (account, 60100, True)
    assert (rights.allow_privilege_escalation, rights.read_only_root_filesystem) == (False, True)
    assert rights.capabilities.drop == ["ALL"]


def test_what_makes_the_folders_writes_where_they_are_and_nowhere_else() -> None:
    (init,) = with_environments(a_server()).spec.init_containers
    assert {(mount.mount_path, mount.sub_path, mount.read_only) for mount in init.volume_mounts} == {
        ("/envs", None, True),
        *((f"/envs/{folder}", folder, False) for folder in ("users", "groups", "references/users")),
    }
    assert {variable.name: variable.value for variable in init.env} == {"HAIENV_ROOT": "/envs", "HOME": "/nonexistent"}
    assert init.resources.requests == {"cpu": "0", "memory": "0", "ephemeral-storage": "0"}, (
        "it takes no room of a size"
    )


@pytest.mark.parametrize(("policy", "given"), [("Always", "Always"), ("", None)])
def test_its_image_is_pulled_as_the_settings_say(policy: str, given: str | None) -> None:
    (init,) = with_environments(a_server(), pull_policy=policy).spec.init_containers
    assert (init.image, init.image_pull_policy) == ("registry.example/init:1", given)


@pytest.mark.parametrize(
    "mount",
    [
        V1VolumeMount(name="x", mount_path="/envs"),
        V1VolumeMount(name="x", mount_path="/envs/"),
        {"name": "x", "mountPath": "/envs"},
        {"name": "x", "mount_path": "/envs/"},
    ],
    ids=["a model", "with a slash", "a dict", "a dict in Python's spelling"],
)
def test_a_folder_in_its_place_is_refused_and_the_pod_stays_as_it_was(mount: Any) -> None:
    pod = a_server(mounts=[mount])
    with pytest.raises(Refusal, match=r"Two folders are mounted at /envs: .* An administrator must take") as error:
        with_environments(pod)
    assert error.value.why is Why.SCHEDULER
    assert (pod.spec.containers[0].volume_mounts, pod.spec.volumes, pod.spec.init_containers) == ([mount], None, None)


def test_folders_beside_it_are_let_be() -> None:
    mounts = [V1VolumeMount(name="x", mount_path="/envs2"), {"name": "y"}]
    pod = with_environments(a_server(mounts=mounts))
    assert pod.spec.containers[0].volume_mounts[:2] == mounts


def test_a_server_is_shown_what_its_user_may_use_alone() -> None:
    reads = ("base", "config.toml", "groups/cv", "users/ann", "users/bob/.python", "users/bob/sight")
    pod = with_environments(a_server(), "ann", "cv", reads=reads)
    mounts = [mount for mount in pod.spec.containers[0].volume_mounts if mount.name == "haienv"]
    assert all(mount.sub_path and mount.mount_path == f"/envs/{mount.sub_path}" for mount in mounts)
    assert {mount.sub_path for mount in mounts if mount.read_only} == {
        "base", "config.toml", "references", "users/bob/.python", "users/bob/sight",
    }  # fmt: skip
    assert writable(pod) == [*OWN, "groups/cv"]


def test_a_server_of_which_the_service_says_nothing_is_shown_its_own_and_base() -> None:
    pod = with_environments(a_server(), "ann", base=True, reads=())
    mounts = {mount.sub_path: mount.read_only for mount in pod.spec.containers[0].volume_mounts}
    assert mounts == {"references": True, "users/ann": False, "references/users/ann": False, "base": False}
