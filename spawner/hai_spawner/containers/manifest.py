"""Add node groups, mounts and the user's account to the pod that KubeSpawner has made.

Names are used as they are, without templates.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

from kubernetes_asyncio.client.models import (
    V1Affinity,
    V1DownwardAPIVolumeFile,
    V1DownwardAPIVolumeSource,
    V1HostPathVolumeSource,
    V1NodeAffinity,
    V1NodeSelector,
    V1NodeSelectorRequirement,
    V1NodeSelectorTerm,
    V1ObjectFieldSelector,
    V1PersistentVolumeClaimVolumeSource,
    V1Volume,
    V1VolumeMount,
)

from hai_client.linux.account_files import group_text, passwd_text
from hai_client.wire.identities import Identity
from hai_client.wire.storage import Mounted
from hai_spawner.containers.menu import Refusal, Why


def require_group(pod: Any, label: str, groups: Collection[str]) -> None:
    """Restrict a pod to the nodes of these groups.

    The terms of a required node affinity are alternatives, so the requirement is added to each of them.

    Args:
        pod: The V1Pod; changed in place.
        label: Key of the label that names a node's group.
        groups: Names of the groups: the allowed values of the label.
    """
    needed = V1NodeSelectorRequirement(key=label, operator="In", values=sorted(groups))
    affinity = pod.spec.affinity or V1Affinity()
    nodes = affinity.node_affinity or V1NodeAffinity()
    required = nodes.required_during_scheduling_ignored_during_execution
    terms = (required.node_selector_terms if required is not None else None) or [V1NodeSelectorTerm()]
    nodes.required_during_scheduling_ignored_during_execution = V1NodeSelector(
        node_selector_terms=[_with(term, needed) for term in terms]
    )
    affinity.node_affinity = nodes
    pod.spec.affinity = affinity


def _with(term: Any, needed: V1NodeSelectorRequirement) -> V1NodeSelectorTerm:
    given = _field(term, "match_expressions", "matchExpressions") or []
    fields = _field(term, "match_fields", "matchFields")
    return V1NodeSelectorTerm(match_expressions=[*given, needed], match_fields=fields)


def _field(term: Any, name: str, camel: str) -> Any:
    """Return a field of a model, or of the dict that an administrator wrote."""
    return term.get(camel, term.get(name)) if isinstance(term, dict) else getattr(term, name)


def add_mounts(pod: Any, mounts: Sequence[Mounted]) -> None:
    """Mount a user's folders into the server's container.

    Args:
        pod: The V1Pod; changed in place.
        mounts: The folders, in the order in which they are mounted.

    Raises:
        Refusal: The spawner's own settings mount something at the same path.
    """
    container = pod.spec.containers[0]
    present = list(container.volume_mounts or [])
    taken = {_path(mount) for mount in present}
    volumes: dict[tuple[str, str], V1Volume] = {}
    for mount in mounts:
        if mount.mount_path.rstrip("/") in taken:
            raise Refusal(
                Why.SCHEDULER,
                f"Two folders are mounted at {mount.mount_path}: one by a rule of the scheduler service, one by the "
                "spawner's volume_mounts. An administrator must take one of them away.",
            )
        key = (mount.kind, mount.source)
        volume = volumes.setdefault(key, _volume(f"hai-{len(volumes)}", mount))
        present.append(
            V1VolumeMount(
                name=volume.name,
                mount_path=mount.mount_path,
                sub_path=mount.sub_path or None,
                read_only=mount.read_only,
            )
        )
    container.volume_mounts = present
    pod.spec.volumes = [*(pod.spec.volumes or []), *volumes.values()]


def _path(mount: Any) -> str:
    path = mount.get("mountPath", mount.get("mount_path", "")) if isinstance(mount, dict) else mount.mount_path
    return str(path).rstrip("/")


def _volume(name: str, mount: Mounted) -> V1Volume:
    if mount.kind == "pvc":
        return V1Volume(name=name, persistent_volume_claim=V1PersistentVolumeClaimVolumeSource(claim_name=mount.source))
    # The type requires the folder to exist: the kubelet would else make a missing one, empty and owned by root.
    return V1Volume(name=name, host_path=V1HostPathVolumeSource(path=mount.source, type="Directory"))


#: The init container that makes folders of the user's and of groups, which it gives to groups by their names.
HAIENV_INIT: Final = "haienv-init"
#: The files with the account, and the annotations with their texts.
_ACCOUNT_FILES: Final = {"passwd": "hai.jupyter.org/passwd", "group": "hai.jupyter.org/group"}
_ACCOUNT_VOLUME: Final = "hai-account"


def add_account(pod: Any, identity: Identity, home: str) -> None:
    """Let /etc/passwd and /etc/group of the server have the account that it runs as.

    The texts are annotations of the pod, shown by its volume of the downward API: no object beside it is needed.

    Args:
        pod: The V1Pod; changed in place.
        identity: The account.
        home: Its home folder in the container.
    """
    gid = identity.groups[0].gid
    texts = {
        "passwd": passwd_text(identity.name, identity.uid, gid, home, identity.shell),
        "group": group_text(identity.name, [(group.gid, group.name) for group in identity.groups]),
    }
    pod.metadata.annotations = {
        **(pod.metadata.annotations or {}),
        **{_ACCOUNT_FILES[file]: text for file, text in texts.items()},
    }
    items = [
        V1DownwardAPIVolumeFile(path=file, field_ref=V1ObjectFieldSelector(field_path=f"metadata.annotations['{key}']"))
        for file, key in _ACCOUNT_FILES.items()
    ]
    source = V1DownwardAPIVolumeSource(default_mode=0o444, items=items)
    pod.spec.volumes = [*(pod.spec.volumes or []), V1Volume(name=_ACCOUNT_VOLUME, downward_api=source)]
    own = [one for one in pod.spec.init_containers or [] if _field(one, "name", "name") == HAIENV_INIT]
    for container in (pod.spec.containers[0], *own):
        container.volume_mounts = [
            *(container.volume_mounts or []),
            *(
                V1VolumeMount(name=_ACCOUNT_VOLUME, mount_path=f"/etc/{file}", sub_path=file, read_only=True)
                for file in _ACCOUNT_FILES
            ),
        ]


def claims_of(pod: Any) -> set[str]:
    """Return the names of all claims that a pod mounts."""
    sources = (_field(one, "persistent_volume_claim", "persistentVolumeClaim") for one in pod.spec.volumes or [])
    return {_field(source, "claim_name", "claimName") for source in sources if source}


def paths_of(pod: Any) -> list[str]:
    """Return the paths at which the server's container sees something."""
    return [_path(mount) for mount in pod.spec.containers[0].volume_mounts or []]


def is_below(folder: str, path: str) -> bool:
    """Return whether a folder is at a mount path or below it; an empty one is nowhere."""
    return bool(folder) and f"{folder}/".startswith(f"{path}/")
