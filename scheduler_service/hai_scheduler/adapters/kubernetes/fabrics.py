"""Tries a fabric: whether nodes have what it asks for, and whether the API server takes the pod of a rank."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from hai_client.quantity import count_of, format_bytes
from hai_scheduler.adapters.kubernetes import manifests
from hai_scheduler.adapters.kubernetes.client import ApiRefused, KubernetesApi, Missing
from hai_scheduler.adapters.kubernetes.cluster_cache import ClusterCache
from hai_scheduler.adapters.kubernetes.pod_parts import SHM
from hai_scheduler.adapters.kubernetes.resources import Capacity, capacity_of, memory_limit, missing_devices
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.workspace.fabrics import Fabric
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.fabric_trials import FabricRefused
from hai_scheduler.ports.secret import Secret

#: What the API server says of a pod that it would take at another time, or cannot try.
_PASSING: Final = ("does not support dry run", "exceeded quota")
#: What it says of pods with the network of their node: Pod Security Standards, and the policies before them.
_HOST_NETWORK: Final = ("host namespaces", "hostNetwork", "host network")
#: Names that are shown of many nodes.
_SHOWN: Final = 5


class PodTrial:
    """The trial of fabrics on Kubernetes."""

    def __init__(self, api: KubernetesApi, sight: ClusterCache, settings: ClusterSettings) -> None:
        self._api = api
        self._sight = sight
        self._settings = settings

    async def try_out(self, fabric: Fabric) -> Sequence[str]:
        """See `FabricTrial.try_out`."""
        await self._sight.fresh()
        nodes = self._sight.platform_nodes()
        there = {node.name: self._capacity(node.name) for node in nodes if node.group == fabric.group}
        if not there:
            known = ", ".join(sorted({node.group for node in nodes})) or "none yet: label nodes first"
            raise FabricRefused("group", fabric.group, f"no node that takes tasks is in it: there are {known}")
        warnings = self._counted(fabric, there)
        fitting = [name for name, capacity in there.items() if not missing_devices(_launch(fabric, name), 0, capacity)]
        self._check_shm(fabric, {name: there[name] for name in fitting})
        return [*warnings, *await self._dry_run(_launch(fabric, fitting[0]), there[fitting[0]])]

    def _capacity(self, node: str) -> Capacity:
        return capacity_of(self._sight.nodes.items[node], self._settings.gpu_resources)

    def _counted(self, fabric: Fabric, there: dict[str, Capacity]) -> list[str]:
        """Return warnings on nodes, and on tasks, that cannot have the resources. Raises FabricRefused if none can."""
        for name, count in fabric.resources.items():
            field = f"resources.{name}"
            if name in self._settings.gpu_resources:
                raise FabricRefused(field, count, "is a GPU, which the platform itself gives to tasks: leave it out")
            most, best = max((count_of(capacity.offered.get(name)), node) for node, capacity in there.items())
            if most < count:
                has = f"{best} has most, {most}: ask for as many" if most else "none has any: install its device plugin"
                raise FabricRefused(
                    field, count, f"no node of {fabric.group} has as many: {has}, and look at `kubectl describe node`"
                )
        short = sorted(name for name, have in there.items() if missing_devices(_launch(fabric, name), 0, have))
        if len(short) == len(there):
            raise FabricRefused(
                "resources", dict(fabric.resources), f"no node of {fabric.group} has all of them: make two node groups"
            )
        found = []
        if short:
            more = "" if len(short) <= _SHOWN else f" and {len(short) - _SHOWN} more"
            found.append(
                f"resources: {len(short)} of {len(there)} nodes have fewer, and no run with this fabric starts there: "
                f"{', '.join(short[:_SHOWN])}{more}"
            )
        gpus = max(capacity.gpu_count for capacity in there.values())
        none = [name for name in sorted(fabric.resources) if gpus and not fabric.count_of(name, 1, gpus)]
        return found + [
            f"resources.{name}: a task of one GPU of {gpus} gets none, as its share is rounded down; if one serves the "
            "whole node, say that it is shared"
            for name in none
        ]

    def _check_shm(self, fabric: Fabric, there: dict[str, Capacity]) -> None:
        for node, capacity in there.items():
            most = memory_limit(_launch(fabric, node), 0, capacity, self._settings)
            if most and fabric.shm_bytes >= most:
                raise FabricRefused(
                    "shm_bytes",
                    fabric.shm_bytes,
                    f"{SHM} counts in the memory of a pod, which may have {format_bytes(most)} on {node}: ask for "
                    f"{format_bytes(Decimal(int(most) // 2))} or less",
                )

    async def _dry_run(self, launch: LaunchOrder, capacity: Capacity) -> list[str]:
        pod = manifests.pod(launch, 0, capacity, self._settings, {})
        # Not the name of a run, and no owner: the trial has none, and the server would look for it.
        kept = {name: pod["metadata"][name] for name in ("labels", "annotations") if name in pod["metadata"]}
        pod["metadata"] = {**kept, "generateName": "hai-trial-"}
        path = f"/api/v1/namespaces/{self._settings.namespace}/pods"
        try:
            await self._api.request("POST", path, query={"dryRun": "All"}, body=pod)
        except Missing as error:
            raise Temporary(f"the pod of a rank cannot be tried: {error}") from None
        except ApiRefused as error:
            words = str(error)
            if any(text in words for text in _PASSING):
                return [f"the pod of a rank could not be tried to the end: {words}"]
            if (
                launch.fabric is not None
                and launch.fabric.host_network
                and any(text in words for text in _HOST_NETWORK)
            ):
                raise FabricRefused(
                    "host_network",
                    True,
                    f"Kubernetes refuses such pods in namespace {self._settings.namespace}: {words}; use networks "
                    "instead, or set workloads.podSecurity: privileged",
                ) from None
            raise FabricRefused(
                "fabric",
                launch.group,
                f"Kubernetes refuses the pod of a rank: {words}; change the fabric, or that rule",
            ) from None
        return []


def _launch(fabric: Fabric, node: str) -> LaunchOrder:
    """Return the order of a run that takes the whole node."""
    return LaunchOrder(
        run_id=RunId("0.1"),
        task_id=TaskId(0),
        user="trial",
        nodes=(node,),
        command=("true",),
        cwd="/",
        env={},
        profile="auto",
        token=Secret("trial"),
        group=fabric.group,
        fabric=fabric,
    )
