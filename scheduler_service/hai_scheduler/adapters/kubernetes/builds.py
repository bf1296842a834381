"""What the pod of a build of an environment gets beside that of other tasks: its owner's folder, made before it starts.

The kubelet would make a missing folder of a mount for root. So an init container makes it first: as the account of the
build, never as root, with the group that alone may make folders beside those of others. It runs the platform's image,
never one that a user chose, and no code of a user runs in it. The container of the build has not got the group.
"""

from __future__ import annotations

from typing import Any, Final

from hai_scheduler.adapters.kubernetes import account
from hai_scheduler.adapters.kubernetes.pod_parts import container_security
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.ports.cluster import LaunchOrder

#: Name of the init container that makes the folder.
MAKING: Final = "haienv-init"
#: By the level of an owner: the option of `haienv init`, and the folders that it makes its own in.
_FOLDERS: Final = {"users": ("--own-user", ("users", "references/users")), "groups": ("--own-group", ("groups",))}


def makes_folder(launch: LaunchOrder, settings: ClusterSettings) -> list[dict[str, Any]]:
    """Return the init container that makes the folder of a build's owner.

    Args:
        launch: The run.
        settings: The settings of the cluster.

    Returns:
        A list with it; an empty one for what is no build, where a mount rule shows the environments, and for `base`,
        which is there from the beginning.
    """
    level, _, name = (launch.haienv_writes or "").partition("/")
    if level not in _FOLDERS or not settings.haienv_claim or shown_by_rule(launch, settings):
        return []
    option, folders = _FOLDERS[level]
    root = settings.haienv_root
    made = [{"name": "haienv", "mountPath": f"{root}/{folder}", "subPath": folder} for folder in folders]
    return [
        {
            "name": MAKING,
            "image": settings.haienv_image,
            "imagePullPolicy": settings.image_pull_policy,
            "command": ["haienv", "init", option, name],
            "env": [{"name": "HAIENV_ROOT", "value": root}, {"name": "HOME", "value": "/nonexistent"}],
            "resources": {
                "requests": {"cpu": "0", "memory": "0", "ephemeral-storage": "0"},
                "limits": {"memory": "256Mi", "ephemeral-storage": "64Mi"},
            },
            "securityContext": {
                **container_security(),
                "runAsGroup": settings.haienv_makers,
                "readOnlyRootFilesystem": True,
            },
            "terminationMessagePolicy": "FallbackToLogsOnError",
            "volumeMounts": [
                {"name": "haienv", "mountPath": root, "readOnly": True},
                *made,
                *account.mounts(launch, settings),
            ],
        }
    ]


def variables_of(launch: LaunchOrder, settings: ClusterSettings) -> dict[str, str]:
    """Return the variables of a build's command, which `launch.env` overrides; empty for what is no build.

    The cache of uv is in the owner's folder: hard links need the same mount, and only who may build for that owner can
    write it. LOGNAME is shown to those who wait for the build.
    """
    if launch.haienv_writes is None or not settings.haienv_claim:
        return {}
    cache = f"{settings.haienv_root}/{launch.haienv_writes}/.cache/uv"
    return {"UV_CACHE_DIR": cache, "LOGNAME": launch.user, **settings.haienv_build_variables}


def shown_by_rule(launch: LaunchOrder, settings: ClusterSettings) -> bool:
    """Return whether a mount rule shows the environments, or the folder of the build's owner, instead of the claim."""
    place = f"{settings.haienv_root}/{launch.haienv_writes}"
    root = settings.haienv_root
    return any(mount.mount_path.rstrip("/") in (root, place) for mount in launch.mounts)
