"""Who the processes of a rank's pod are: the account of the cluster's settings, or one of the user's own.

With an account of the user's own the kubelet gives no volume to a group (`fsGroup`): it would do so with all files of
a shared volume that are there, and take them from their groups. What the pod needs to write then is a folder that all
may write, of which the pod alone sees the inside.

The account is in /etc/passwd and /etc/group, which programs read. Both texts are annotations of the pod, as its
`downwardAPI` volume shows them: no object beside the pod is needed, and no right to make one.
"""

from __future__ import annotations

from typing import Any, Final

from hai_client.linux.account_files import group_text, passwd_text
from hai_scheduler.adapters.kubernetes.names import PREFIX
from hai_scheduler.adapters.kubernetes.resources import Capacity
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.ports.cluster import LaunchOrder

#: The files, and the annotations with their texts.
FILES: Final = {"passwd": f"{PREFIX}passwd", "group": f"{PREFIX}group"}
VOLUME: Final = "hai-account"
#: The home folder of a user of whose own no mount shows anything.
NO_HOME: Final = "/tmp"  # noqa: S108  # as in pods without an account


def pod_security(launch: LaunchOrder, capacity: Capacity, settings: ClusterSettings) -> dict[str, Any]:
    """Return the security context of a pod, as the restricted profile of the Pod Security Standards asks.

    Args:
        launch: The run.
        capacity: What the rank's node has.
        settings: The settings of the cluster.
    """
    always = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    identity = launch.identity
    if identity is None:
        return {
            **always,
            "runAsUser": settings.run_as_user,
            "runAsGroup": settings.run_as_group,
            "fsGroup": settings.run_as_group,
            "fsGroupChangePolicy": "OnRootMismatch",
        }
    made = {**always, "runAsUser": identity.uid, "runAsGroup": identity.gid}
    if identity.others:
        made["supplementalGroups"] = list(identity.others)
    if capacity.strict_groups:
        # Else the groups that the image's own /etc/group gives to the number count as well.
        made["supplementalGroupsPolicy"] = "Strict"
    return made


def platform_security(settings: ClusterSettings) -> dict[str, Any]:
    """Return what makes a container that runs no code of users the account of the cluster's settings."""
    return {"runAsUser": settings.run_as_user, "runAsGroup": settings.run_as_group}


def home_of(launch: LaunchOrder) -> str | None:
    """Return the home folder of the user's account, where a mount shows it; None: without an account of the user's."""
    if launch.identity is None:
        return None
    return launch.identity.home_in([mount.mount_path for mount in launch.mounts], NO_HOME)


def texts(launch: LaunchOrder, settings: ClusterSettings) -> dict[str, str]:
    """Return the annotations with the texts of the files; empty: the image's own files count."""
    identity = launch.identity
    if identity is None or not settings.account_files:
        return {}
    home = home_of(launch) or NO_HOME
    groups = [(group.gid, group.name) for group in identity.groups]
    return {
        FILES["passwd"]: passwd_text(identity.name, identity.uid, identity.gid, home, identity.shell),
        FILES["group"]: group_text(identity.name, groups),
    }


def volumes(launch: LaunchOrder, settings: ClusterSettings) -> list[dict[str, Any]]:
    """Return the volume with the files."""
    if not texts(launch, settings):
        return []
    items = [{"path": path, "fieldRef": {"fieldPath": f"metadata.annotations['{key}']"}} for path, key in FILES.items()]
    return [{"name": VOLUME, "downwardAPI": {"defaultMode": 0o444, "items": items}}]


def mounts(launch: LaunchOrder, settings: ClusterSettings) -> list[dict[str, Any]]:
    """Return the mounts of the files in a container."""
    if not texts(launch, settings):
        return []
    return [{"name": VOLUME, "mountPath": f"/etc/{path}", "subPath": path, "readOnly": True} for path in FILES]
