"""Parts of a rank's pod: where it may run, what it may do, what it sees."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from hai_client.pythons import VENV
from hai_client.quantity import mebibytes
from hai_scheduler.adapters.kubernetes import account
from hai_scheduler.adapters.kubernetes.names import run_name
from hai_scheduler.adapters.kubernetes.resources import Capacity, share_of
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.core.model.pins import Pin
from hai_scheduler.core.workspace.mounts import Mount, MountKind
from hai_scheduler.ports.cluster import LaunchOrder

#: The platform's folder in a pod, and the files in it.
HAI: Final = "/hai"
CLIENT: Final = "hai.pyz"
SPEC: Final = f"{HAI}/spec"
LOG: Final = f"{HAI}/log"
#: Bytes that the platform's own folder holds besides the log: the client, the status, and pieces that are being sent.
_PLATFORM_BYTES: Final = Decimal(512 * 1024 * 1024)
#: The volume with copies of environments on the node's own disk, and where the init container sees it.
LOCAL: Final = "haienv-local"
COPIES: Final = f"{HAI}/environments"
#: Name of that init container.
FETCHING: Final = "haienv-fetch"
SHM: Final = "/dev/shm"  # noqa: S108  # where programs expect it


def local_pin(launch: LaunchOrder, settings: ClusterSettings) -> Pin | None:
    """Return the generation of which the ranks use a copy on their node's own disk; None: none."""
    return launch.haienv if settings.haienv_local_claim and launch.haienv is not None else None


def fetching(launch: LaunchOrder, pin: Pin, settings: ClusterSettings) -> dict[str, Any]:
    """Return the init container that makes the copy, as the one account to which all copies belong.

    No code of a user runs there.
    """
    days = f"{settings.haienv_local_days:g}"
    return {
        "name": FETCHING,
        "image": settings.haienv_image,
        "imagePullPolicy": settings.image_pull_policy,
        "command": ["haienv", "fetch", pin.reference, "--digest", pin.digest, "--to", COPIES, "--days", days],
        "env": [{"name": "HAIENV_ROOT", "value": settings.haienv_root}, {"name": "HAIENV_USER", "value": launch.user}],
        "resources": {
            "requests": {"cpu": "0", "memory": "0", "ephemeral-storage": "0"},
            "limits": {"memory": "1Gi", "ephemeral-storage": "64Mi"},
        },
        "securityContext": {
            **container_security(),
            **({} if launch.identity is None else account.platform_security(settings)),
            "readOnlyRootFilesystem": True,
        },
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [
            {"name": "haienv", "mountPath": settings.haienv_root, "readOnly": True},
            {"name": LOCAL, "mountPath": COPIES},
        ],
    }


def placement(node: str, settings: ClusterSettings) -> dict[str, Any]:
    """Return the fields of a pod's spec that bind it to its node.

    With `affinity`, kube-scheduler decides and writes into the pod why it cannot place it. With `direct`, only the
    kubelet decides: it rejects a pod that does not fit.
    """
    if settings.binding == "direct":
        return {"nodeName": node}
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    required = {"nodeSelectorTerms": [term]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def container_security() -> dict[str, Any]:
    """Return the security context of a container.

    RDMA gets no IPC_LOCK: it has no effect on an account that is not root, and PodSecurity refuses it.
    """
    return {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def network(launch: LaunchOrder) -> dict[str, Any]:
    """Return the fields of a pod's spec that give it the network of its node, if its fabric says so."""
    if launch.fabric is None or not launch.fabric.host_network:
        return {}
    # The default policy would mean the node's own DNS here, which knows no names of ranks.
    return {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}


def master_port(launch: LaunchOrder, settings: ClusterSettings) -> int:
    """Return the port at which rank 0 listens for the others.

    In the network of a node it follows from the run: a port of the run before may still be taken. Those from 30000 on
    are Kubernetes' own, and those that the kernel gives.
    """
    if not network(launch):
        return settings.master_port
    return 20000 + zlib.crc32(launch.run_id.encode()) % 10000


def _shm(launch: LaunchOrder, share: Decimal, settings: ClusterSettings) -> dict[str, Any]:
    """Return the volume of /dev/shm: as large as the fabric says, by the rank's share of its node, or the settings."""
    fabric = launch.fabric
    size = mebibytes(Decimal(fabric.shm_bytes) * share) if fabric and fabric.shm_bytes else settings.shm_size
    return {"emptyDir": {"medium": "Memory", **({"sizeLimit": size} if size else {})}}


def variables(launch: LaunchOrder, rank: int, gpus: int, settings: ClusterSettings) -> list[dict[str, Any]]:
    """Return the variables that tell a supervisor which rank it is. All others are in the Secret."""
    plain = {
        "HAI_RANK": str(rank),
        "HAI_GPUS": str(gpus),
        "HAI_TERMINATION_GRACE": str(settings.grace_s(launch.grace)),
    }
    if settings.log_claim:
        plain["HAI_LOG_DIR"] = LOG
    if not gpus:
        # Images set `all`, and the container runtime would obey before the supervisor runs.
        plain["NVIDIA_VISIBLE_DEVICES"] = "void"
    fields = {"HAI_NODE_NAME": "spec.nodeName", "HAI_POD_IP": "status.podIP"}
    return [{"name": name, "value": value} for name, value in plain.items()] + [
        {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in fields.items()
    ]


class Volumes:
    """The volumes of a pod and where its container sees them."""

    def __init__(self, launch: LaunchOrder, rank: int, capacity: Capacity, settings: ClusterSettings) -> None:
        self.volumes: list[dict[str, Any]] = []
        self.mounts: list[dict[str, Any]] = []
        self._names: dict[tuple[MountKind, str], str] = {}
        self._platform(launch, rank, settings)
        self._one("shm", _shm(launch, share_of(launch, rank, capacity), settings), SHM)
        for mount in launch.mounts:
            self._add(mount)
        # A mount rule for the same folder goes before it.
        if settings.haienv_claim and all(mount["mountPath"] != settings.haienv_root for mount in self.mounts):
            self._environments(launch, settings)
            pin = local_pin(launch, settings)
            if pin is not None:
                self._local_copy(launch, pin, settings)

    def _platform(self, launch: LaunchOrder, rank: int, settings: ClusterSettings) -> None:
        self._one("hai", {"emptyDir": {"sizeLimit": _platform_size(settings)}}, HAI)
        # Only this pod mounts it, and all of its processes are one user.
        secret = {"secretName": run_name(launch.run_id), "defaultMode": 0o444}
        self._one("hai-spec", {"secret": secret}, SPEC, readOnly=True)
        if settings.client_config_map:
            client = {"configMap": {"name": settings.client_config_map, "defaultMode": 0o444}}
            self._one("hai-client", client, f"{HAI}/{CLIENT}", readOnly=True, subPath=CLIENT)
        if settings.log_claim:
            claim = {"persistentVolumeClaim": {"claimName": settings.log_claim}}
            # The rank's own folder alone: a job may not see the logs of others.
            self._one("hai-log", claim, LOG, subPath=f"{launch.run_id}/{rank}")
        self.volumes += account.volumes(launch, settings)
        self.mounts += account.mounts(launch, settings)

    def _local_copy(self, launch: LaunchOrder, pin: Pin, settings: ClusterSettings) -> None:
        """Show the copy of an environment on the node's own disk in the place of the shared one."""
        self.volumes.append({"name": LOCAL, "persistentVolumeClaim": {"claimName": settings.haienv_local_claim}})
        copy = f"{pin.digest.replace(':', '-')}/prefix"
        # The copy of this task alone, and read-only: what others run cannot be changed.
        self.mounts.append({"name": LOCAL, "mountPath": launch.env[VENV], "subPath": copy, "readOnly": True})

    def _environments(self, launch: LaunchOrder, settings: ClusterSettings) -> None:
        """Mount the environments of haienv, all or those that the user may see. Volume and mount are read-only.

        A build has a second mount, with which it writes to the folder of its environment's owner. Only the service
        marks a task as a build.
        """
        claim: dict[str, Any] = {"claimName": settings.haienv_claim}
        shown = _seen(launch, settings.haienv_root)
        if launch.haienv_writes is None:
            claim["readOnly"] = True
        else:
            place = f"{settings.haienv_root}/{launch.haienv_writes}"
            # A rule that shows this very folder has been made writable by the service.
            if all(mount["mountPath"] != place for mount in self.mounts):
                shown.append({"name": "haienv", "mountPath": place, "subPath": launch.haienv_writes})
        self.volumes.append({"name": "haienv", "persistentVolumeClaim": claim})
        # First: a rule may show a folder below it.
        self.mounts[:0] = shown

    def _one(self, name: str, source: Mapping[str, Any], path: str, **more: Any) -> None:
        self.volumes.append({"name": name, **source})
        self.mounts.append({"name": name, "mountPath": path, **more})

    def _add(self, mount: Mount) -> None:
        name = self._names.get((mount.kind, mount.source))
        if name is None:
            name = self._names[mount.kind, mount.source] = f"mount-{len(self._names)}"
            self.volumes.append({"name": name, **_source(mount)})
        seen = {"name": name, "mountPath": mount.mount_path, "readOnly": mount.read_only}
        if mount.sub_path:
            seen["subPath"] = mount.sub_path
        self.mounts.append(seen)


def _seen(launch: LaunchOrder, root: str) -> list[dict[str, Any]]:
    """Return the mounts of the environments that ranks read: one for all, or one for each folder that they may see."""
    if launch.haienv_reads is None:
        return [{"name": "haienv", "mountPath": root, "readOnly": True}]
    return [
        {"name": "haienv", "mountPath": f"{root}/{folder}", "subPath": folder, "readOnly": True}
        for folder in launch.haienv_reads
        if folder != launch.haienv_writes
    ]


def _platform_size(settings: ClusterSettings) -> str:
    """Return the size limit of the platform's own folder: twice the log (while it rotates), and some more."""
    return mebibytes(Decimal(2 * settings.log_max_bytes) + _PLATFORM_BYTES)


def _source(mount: Mount) -> dict[str, Any]:
    if mount.kind is MountKind.PVC:
        return {"persistentVolumeClaim": {"claimName": mount.source}}
    # If the folder is missing the rank must not start; `Directory` keeps Kubernetes from creating an empty one.
    return {"hostPath": {"path": mount.source, "type": "Directory"}}
