"""Kubernetes objects for tests, as an API server shows them: name only what the test is about."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hai_scheduler.adapters.kubernetes import manifests
from hai_scheduler.adapters.kubernetes.nodes import not_ready_since
from hai_scheduler.adapters.kubernetes.ranks import NodeHealth
from hai_scheduler.adapters.kubernetes.record import RunObjects, runs_seen
from hai_scheduler.adapters.kubernetes.resources import Capacity, capacity_of
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.ports.cluster import LaunchOrder
from kit.builders import T0, a_launch

Thing = dict[str, Any]
OWNER = {"apiVersion": "v1", "kind": "Service", "name": "hai-1-1", "uid": "u-1", "controller": True}


def stamp(seconds: float = 0) -> str:
    """A time as the API server writes it, so long after `T0`."""
    return (T0 + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def some_settings(**fields: Any) -> ClusterSettings:
    return ClusterSettings(**{"namespace": "runs", "api_url": "http://hai:8090/api/v1", **fields})


def a_kube_node(name: str = "node-1", *, gpus: int = 8, ready: str = "True", since: float = 0, **more: Any) -> Thing:
    """A node of the group `training`; `since` is when its readiness last changed."""
    labels = {"hai.jupyter.org/group": "training", **more.pop("labels", {})}
    condition = {"type": "Ready", "status": ready, "lastTransitionTime": stamp(since), "message": "kubelet is well"}
    if ready != "True":
        condition["message"] = "Kubelet stopped posting node status."
    allocatable = {"cpu": "64", "memory": "512Gi", "ephemeral-storage": "1000Gi", "pods": "110"}
    if gpus:
        allocatable["nvidia.com/gpu"] = str(gpus)
    return {
        "metadata": {"name": name, "uid": f"u-{name}", "resourceVersion": "1", "labels": labels},
        "spec": more,
        "status": {"allocatable": allocatable, "conditions": [condition]},
    }


def capacity(**fields: Any) -> Capacity:
    return capacity_of(a_kube_node(**fields), ("nvidia.com/gpu",))


def a_pod(launch: LaunchOrder | None = None, rank: int = 0, *, node: str | None = "node-1", **status: Any) -> Thing:
    """A pod of a run; with no node it is not bound. `deleted` is when it is ended, seconds after `T0`."""
    deleted = status.pop("deleted", None)
    pod = manifests.pod(launch or a_launch(), rank, capacity(), some_settings(), OWNER)
    pod["metadata"] |= {"uid": f"u-{pod['metadata']['name']}", "resourceVersion": "5", "creationTimestamp": stamp()}
    if deleted is not None:
        pod["metadata"] |= {"deletionTimestamp": stamp(deleted), "deletionGracePeriodSeconds": 130}
    if node:
        pod["spec"]["nodeName"] = node
    pod["status"] = {"phase": "Pending", **status}
    return pod


def container(name: str = "rank", **state: Any) -> dict[str, Any]:
    """`containerStatuses` of one container."""
    return {"containerStatuses": [{"name": name, "state": state}]}


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return container(waiting={"reason": reason, "message": message})


def running() -> dict[str, Any]:
    return {"phase": "Running", "podIP": "10.0.0.7", **container(running={"startedAt": stamp()})}


def terminated(code: int = 0, **more: Any) -> dict[str, Any]:
    ended = {"exitCode": code, "reason": "Error" if code else "Completed", "finishedAt": stamp(60), **more}
    return {"phase": "Failed" if code else "Succeeded", **container(terminated=ended)}


#: What kubelets since 1.27 write of a container of which they find no trace when its pod has ended.
LOST_TRACK = {
    "exitCode": 137,
    "reason": "ContainerStatusUnknown",
    "message": "The container could not be located when the pod was terminated",
    "startedAt": None,
    "finishedAt": None,
}


def unlocated(name: str = "rank") -> dict[str, Any]:
    """`containerStatuses` of a container that was never made, in a pod that has ended, since 1.27."""
    return {
        "containerStatuses": [
            {"name": name, "containerID": "", "started": False, "state": {"terminated": dict(LOST_TRACK)}}
        ]
    }


def a_service(launch: LaunchOrder | None = None, **annotations: str) -> Thing:
    made = manifests.service(
        launch or a_launch(), {f"hai.jupyter.org/{key}": text for key, text in annotations.items()}
    )
    made["metadata"] |= {"uid": "u-service", "resourceVersion": "3", "creationTimestamp": stamp()}
    return made


def a_sight(
    *pods: Thing, launch: LaunchOrder | None = None, removed: tuple[Thing, ...] = (), **annotations: str
) -> RunObjects:
    """A run with its record."""
    (sight,) = runs_seen([a_service(launch, **annotations)], pods, removed).values()
    return sight


def around(*nodes: Thing, now: float = 0, lost_after: float = 300) -> NodeHealth:
    """What else is to be seen; `node-1` is ready unless nodes are given."""
    named = {node["metadata"]["name"]: node for node in nodes or (a_kube_node(),)}
    unready = {name: since for name, node in named.items() if (since := not_ready_since(node)) is not None}
    return NodeHealth(
        now=T0 + timedelta(seconds=now),
        nodes=named.keys(),
        unready=unready,
        lost_after=timedelta(seconds=lost_after),
    )
