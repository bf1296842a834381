"""The resources that a rank requests of its node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from hai_client.quantity import count_of, mebibytes, parse_quantity, thousandths
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.ports.cluster import LaunchOrder


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """The resources that a node can give to pods."""

    cpu: Decimal = Decimal(0)
    #: Bytes.
    memory: Decimal = Decimal(0)
    #: Bytes of local storage (`ephemeral-storage`).
    storage: Decimal = Decimal(0)
    #: Number of GPUs by resource name; only resources that the node has.
    gpus: Mapping[str, int] = field(default_factory=dict)
    #: Whether its pods can be kept from the groups that their images name.
    strict_groups: bool = False

    @property
    def gpu_count(self) -> int:
        """Number of all GPUs of the node."""
        return sum(self.gpus.values())


def capacity_of(node: Mapping[str, Any], gpu_resources: tuple[str, ...]) -> Capacity:
    """Read a Node's allocatable resources; a quantity that cannot be read counts as 0."""
    status = node.get("status") or {}
    allocatable = status.get("allocatable") or {}
    counts = {name: count_of(allocatable.get(name)) for name in gpu_resources}
    return Capacity(
        cpu=_number(allocatable.get("cpu")),
        memory=_number(allocatable.get("memory")),
        storage=_number(allocatable.get("ephemeral-storage")),
        gpus={name: number for name, number in counts.items() if number},
        # Kubelets since 1.33 refuse a pod that asks for it where the container runtime cannot do it.
        strict_groups=bool((status.get("features") or {}).get("supplementalGroupsPolicy")),
    )


def _number(text: str | None) -> Decimal:
    try:
        return parse_quantity(text or "0")
    except ValueError:
        return Decimal(0)


def gpus_of(capacity: Capacity, wanted: int) -> dict[str, int]:
    """Return `wanted` GPUs by resource; all of the node's for 0. The device plugin decides which ones they are (U2)."""
    if not wanted:
        return dict(capacity.gpus)
    taken: dict[str, int] = {}
    for name, there in capacity.gpus.items():
        taken[name] = min(there, wanted - sum(taken.values()))
    return {name: number for name, number in taken.items() if number}


def has_rdma(launch: LaunchOrder, settings: ClusterSettings) -> bool:
    """Whether the ranks of a run may have RDMA devices: the group's policy and the user's right must both allow it."""
    return "rdma" in launch.rights and launch.group in settings.rdma_groups


def _requested(there: Decimal, share: float, reserve: Decimal) -> Decimal:
    """Return what a whole-node rank requests: its share, without what is reserved for pods that are not tasks."""
    return max(Decimal(0), min(there * Decimal(str(share)), there - reserve))


def resources_of(
    launch: LaunchOrder, rank: int, capacity: Capacity, settings: ClusterSettings
) -> dict[str, dict[str, str]]:
    """Return the `resources` of a rank's container."""
    wanted = len(launch.gpus[rank]) if launch.gpus else 0
    share = Decimal(wanted) / capacity.gpu_count if wanted and capacity.gpu_count else Decimal(1)
    devices = {name: str(number) for name, number in gpus_of(capacity, wanted).items()}
    if has_rdma(launch, settings):
        devices |= {name: str(number) for name, number in sorted(settings.rdma_resources.items())}
    requests, limits = dict(devices), dict(devices)
    cpus = _requested(capacity.cpu, settings.cpu_share, Decimal(str(settings.cpu_reserve))) * share
    if cpus > 0:
        requests["cpu"] = thousandths(cpus)
    kept = parse_quantity(settings.memory_reserve or "0")
    bytes_wanted = _requested(capacity.memory, settings.memory_share, kept) * share
    most = capacity.memory * Decimal(str(settings.memory_limit_share)) * share
    if most > 0:
        limits["memory"] = mebibytes(most)
        bytes_wanted = min(bytes_wanted, most)
    if bytes_wanted > 0 or most > 0:
        # Without a request Kubernetes takes the limit for it.
        requests["memory"] = mebibytes(bytes_wanted)
    stored = capacity.storage * Decimal(str(settings.storage_limit_share)) * share
    if stored > 0:
        limits["ephemeral-storage"], requests["ephemeral-storage"] = mebibytes(stored), "0"
    return {"requests": requests, "limits": limits}
