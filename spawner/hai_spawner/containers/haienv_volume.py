"""Mount the volume of all environments of haienv into a server's pod.

Read-only is the whole volume, or what the user may use of it: then no other folder is in the pod at all. Above that the
folders that the user may change are mounted for writing: the user's own, and those of the user's groups. So a server
cannot change what others run, nor read what is not theirs, whatever account it has and whatever the modes of files say.
An init container makes these folders first. It runs as the server's account, never as root, with a
group that nothing else has: only this group may make folders beside those of others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from kubernetes_asyncio.client.models import (
    V1Capabilities,
    V1Container,
    V1EnvVar,
    V1PersistentVolumeClaimVolumeSource,
    V1ResourceRequirements,
    V1SeccompProfile,
    V1SecurityContext,
    V1Volume,
    V1VolumeMount,
)

from hai_spawner.containers.haienv_paths import haienv_name
from hai_spawner.containers.manifest import HAIENV_INIT
from hai_spawner.containers.menu import Refusal, Why

VOLUME: Final = "haienv"
#: It makes a few folders.
_RESOURCES: Final = V1ResourceRequirements(
    requests={"cpu": "0", "memory": "0", "ephemeral-storage": "0"},
    limits={"memory": "256Mi", "ephemeral-storage": "64Mi"},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentVolume:
    """The volume, and who may do what with it."""

    claim: str  #: Name of the claim in the servers' namespace.
    root: str  #: Where pods see it; absolute.
    init_image: str  #: The image of the init container, which has `haienv` on its PATH.
    pull_policy: str  #: When that image is pulled; empty: the default of Kubernetes.
    makers: int  #: The number of the group that may make folders of users and groups.
    #: The folders that the user may use, by the scheduler service, below the root; None: the whole volume.
    reads: tuple[str, ...] | None = None


def add_environments(
    pod: Any, volume: EnvironmentVolume, *, user: str, groups: Sequence[str], builds_base: bool
) -> None:
    """Mount the environments into the server's container, and put the init container before all others.

    Args:
        pod: The V1Pod; changed in place.
        volume: The volume.
        user: The owner of the server.
        groups: Names of the owner's groups.
        builds_base: Whether the owner may change base environments.

    Raises:
        Refusal: Something else is mounted at the root.
    """
    container = pod.spec.containers[0]
    mounts = list(container.volume_mounts or [])
    if any(_path(mount) == volume.root for mount in mounts):
        raise Refusal(
            Why.SCHEDULER,
            f"Two folders are mounted at {volume.root}: the environments of haienv, and one by a mount rule or by the "
            "spawner's volume_mounts. An administrator must take the second one away.",
        )
    owner = haienv_name(user)
    members = sorted(filter(haienv_name, groups))
    own = [f"users/{user}", f"references/users/{user}"] if owner else []
    own += [f"groups/{name}" for name in members]
    own += ["base"] if builds_base else []
    container.volume_mounts = [*mounts, *_read(volume, own), *(_mount(volume, folder) for folder in own)]
    source = V1PersistentVolumeClaimVolumeSource(claim_name=volume.claim)
    pod.spec.volumes = [*(pod.spec.volumes or []), V1Volume(name=VOLUME, persistent_volume_claim=source)]
    words = ["--own-user", user] if owner else []
    words += [word for name in members for word in ("--own-group", name)]
    if words:
        made = _init_container(volume, words, container.security_context)
        pod.spec.init_containers = [made, *(pod.spec.init_containers or [])]


def _read(volume: EnvironmentVolume, own: Sequence[str]) -> list[V1VolumeMount]:
    """Return the mounts for reading: of everything, or of what the user may use and does not write."""
    if volume.reads is None:
        return [_mount(volume, "")]
    # References tell `haienv gc` and `haienv remove` what is in use.
    wanted = {*volume.reads, "base", "references"} - set(own)
    inside = tuple(f"{folder}/" for folder in (*own, *wanted) if folder != "references")
    return [
        V1VolumeMount(name=VOLUME, mount_path=f"{volume.root}/{folder}", sub_path=folder, read_only=True)
        for folder in sorted(wanted)
        if not folder.startswith(inside)
    ]


def _mount(volume: EnvironmentVolume, folder: str) -> V1VolumeMount:
    """Return the mount of a folder for writing; without a folder, that of everything for reading."""
    if not folder:
        return V1VolumeMount(name=VOLUME, mount_path=volume.root, read_only=True)
    return V1VolumeMount(name=VOLUME, mount_path=f"{volume.root}/{folder}", sub_path=folder, read_only=False)


def _init_container(volume: EnvironmentVolume, words: Sequence[str], server: Any) -> V1Container:
    """Return the init container, which runs as the account of the server."""
    return V1Container(
        name=HAIENV_INIT,
        image=volume.init_image,
        image_pull_policy=volume.pull_policy or None,
        command=["haienv", "init", *words],
        env=[V1EnvVar(name="HAIENV_ROOT", value=volume.root), V1EnvVar(name="HOME", value="/nonexistent")],
        resources=_RESOURCES,
        security_context=V1SecurityContext(
            run_as_user=_field(server, "run_as_user", "runAsUser"),
            run_as_group=volume.makers,
            run_as_non_root=True,
            allow_privilege_escalation=False,
            read_only_root_filesystem=True,
            capabilities=V1Capabilities(drop=["ALL"]),
            seccomp_profile=V1SeccompProfile(type="RuntimeDefault"),
        ),
        termination_message_policy="FallbackToLogsOnError",
        volume_mounts=[
            _mount(volume, ""),
            *(_mount(volume, folder) for folder in ("users", "groups", "references/users")),
        ],
    )


def _field(given: Any, name: str, camel: str) -> Any:
    """Return a field of a model, or of the dict that an administrator wrote; None where there is none."""
    return given.get(camel, given.get(name)) if isinstance(given, dict) else getattr(given, name, None)


def _path(mount: Any) -> str:
    path = mount.get("mountPath", mount.get("mount_path", "")) if isinstance(mount, dict) else mount.mount_path
    return str(path).rstrip("/")
