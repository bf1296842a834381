"""The resources that a rank requests of its node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from hai_client.quantity import amount_of, count_of, mebibytes, parse_quantity, pod_requests, thousandths
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
    #: How many pods.
    pods: int = 0
    #: Number of GPUs by resource name; only resources that the node has.
    gpus: Mapping[str, int] = field(default_factory=dict)
    #: All that the node offers, by resource name, as Kubernetes writes it.
    offered: Mapping[str, str] = field(default_factory=dict)
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
        cpu=amount_of(allocatable.get("cpu")),
        memory=amount_of(allocatable.get("memory")),
        storage=amount_of(allocatable.get("ephemeral-storage")),
        pods=count_of(allocatable.get("pods")),
        gpus={name: number for name, number in counts.items() if number},
        offered=allocatable,
        # Kubelets since 1.33 refuse a pod that asks for it where the container runtime cannot do it.
        strict_groups=bool((status.get("features") or {}).get("supplementalGroupsPolicy")),
    )


def gpus_of(capacity: Capacity, wanted: int) -> dict[str, int]:
    """Return `wanted` GPUs by resource; all of the node's for 0. The device plugin decides which ones they are (U2)."""
    if not wanted:
        return dict(capacity.gpus)
    taken: dict[str, int] = {}
    for name, there in capacity.gpus.items():
        taken[name] = min(there, wanted - sum(taken.values()))
    return {name: number for name, number in taken.items() if number}


def fabric_devices(launch: LaunchOrder, rank: int, capacity: Capacity) -> dict[str, int]:
    """Return the devices of its fabric that a rank requests, by resource."""
    fabric, wanted = launch.fabric, gpus_wanted(launch, rank)
    if fabric is None:
        return {}
    counts = {name: fabric.count_of(name, wanted, capacity.gpu_count) for name in sorted(fabric.resources)}
    return {name: count for name, count in counts.items() if count}


def missing_devices(launch: LaunchOrder, rank: int, capacity: Capacity) -> str:
    """Return what a node has less of than a rank's fabric asks for, in words; empty: it has enough."""
    wanted = fabric_devices(launch, rank, capacity)
    there = {name: count_of(capacity.offered.get(name)) for name in wanted}
    return "; ".join(
        f"{there[name]} of {name} and not {count}" for name, count in wanted.items() if there[name] < count
    )


def gpus_wanted(launch: LaunchOrder, rank: int) -> int:
    """Return how many GPUs of its node a rank holds; 0 is the whole node (U2)."""
    return len(launch.gpus[rank]) if launch.gpus else 0


def share_of(launch: LaunchOrder, rank: int, capacity: Capacity) -> Decimal:
    """Return the part of its node that a rank has, by its GPUs."""
    wanted = gpus_wanted(launch, rank)
    return Decimal(wanted) / capacity.gpu_count if wanted and capacity.gpu_count else Decimal(1)


def memory_limit(launch: LaunchOrder, rank: int, capacity: Capacity, settings: ClusterSettings) -> Decimal:
    """Return the bytes that a rank may have at most, /dev/shm included; 0 is no limit."""
    return _most_memory(capacity, settings) * share_of(launch, rank, capacity)


def _requested(there: Decimal, share: float, reserve: Decimal) -> Decimal:
    """Return what a whole-node rank requests: its share, without what is reserved for pods that are not tasks."""
    return max(Decimal(0), min(there * Decimal(str(share)), there - reserve))


def whole_request(capacity: Capacity, settings: ClusterSettings) -> tuple[Decimal, Decimal]:
    """Return the CPUs and the bytes of memory that a rank requests which has a whole node."""
    cpu = _requested(capacity.cpu, settings.cpu_share, Decimal(str(settings.cpu_reserve)))
    memory = _requested(capacity.memory, settings.memory_share, parse_quantity(settings.memory_reserve or "0"))
    most = _most_memory(capacity, settings)
    return cpu, min(memory, most) if most > 0 else memory


def _most_memory(capacity: Capacity, settings: ClusterSettings) -> Decimal:
    return capacity.memory * Decimal(str(settings.memory_limit_share))


def gpus_asked(pod: Mapping[str, Any], gpu_resources: tuple[str, ...]) -> int:
    """Return how many GPUs a pod asks for."""
    asked = pod_requests(pod)
    return int(sum(asked.get(name, Decimal(0)) for name in gpu_resources))


def resources_of(
    launch: LaunchOrder, rank: int, capacity: Capacity, settings: ClusterSettings
) -> dict[str, dict[str, str]]:
    """Return the `resources` of a rank's container."""
    share, counts = share_of(launch, rank, capacity), gpus_of(capacity, gpus_wanted(launch, rank))
    devices = {name: str(number) for name, number in {**counts, **fabric_devices(launch, rank, capacity)}.items()}
    requests, limits = dict(devices), dict(devices)
    cpus, bytes_wanted = whole_request(capacity, settings)
    if cpus > 0:
        requests["cpu"] = thousandths(cpus * share)
    most = memory_limit(launch, rank, capacity, settings)
    if most > 0:
        limits["memory"] = mebibytes(most)
    if bytes_wanted > 0 or most > 0:
        # Without a request Kubernetes takes the limit for it.
        requests["memory"] = mebibytes(bytes_wanted * share)
    stored = capacity.storage * Decimal(str(settings.storage_limit_share)) * share
    if stored > 0:
        limits["ephemeral-storage"], requests["ephemeral-storage"] = mebibytes(stored), "0"
    return {"requests": requests, "limits": limits}
