"""Pods from outside of HAI, and the room that they leave on each node (rule F5).

Of a pod only what it takes of its node is kept, and a name for it: 60,000 whole pods would be half a gigabyte.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from hai_client.quantity import pod_requests
from hai_scheduler.adapters.kubernetes.informer import Thing
from hai_scheduler.adapters.kubernetes.names import run_of
from hai_scheduler.adapters.kubernetes.resources import Capacity, whole_request
from hai_scheduler.adapters.kubernetes.settings import EVERYWHERE, ClusterSettings

#: Pods that are on a node and take something of it, as a field selector.
ON_NODES: Final = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"
#: Labels that may say what a pod is for, the best first.
_NAMES: Final = ("app.kubernetes.io/name", "app", "k8s-app")


def paths(settings: ClusterSettings) -> Sequence[str]:
    """Return the paths of the API server under which the pods are listed that count."""
    if EVERYWHERE in settings.foreign_pods:
        return ("/api/v1/pods",)
    return [f"/api/v1/namespaces/{name}/pods" for name in settings.foreign_pods]


@dataclass(frozen=True, slots=True)
class Taking:
    """What a pod takes of its node."""

    node: str
    cpu: Decimal
    #: Bytes.
    memory: Decimal
    gpus: int
    priority: int
    #: What it is, and in which namespace.
    whose: str


@dataclass(frozen=True, slots=True)
class Room:
    """How many GPUs (1 on a node without any) runs may have on a node, and whose pods take the most; None: all."""

    gpus: int | None = None
    crowd: str = ""


class ForeignPods:
    """What pods from outside of HAI take of each node. Work is done when a pod changes, and none in a tick.

    Args:
        settings: The settings of the cluster.
        on_change: Called with the name of a node whose pods have changed.
    """

    def __init__(self, settings: ClusterSettings, on_change: Callable[[str], None]) -> None:
        self._settings = settings
        self._on_change = on_change
        #: By node, then by namespace and name.
        self._on: defaultdict[str, dict[str, Taking]] = defaultdict(dict)
        #: Pods of a lower priority take nothing: kube-scheduler removes them for ranks. None: it does not.
        self._lowest = 0 if settings.binding == "affinity" else None

    def slim(self, pod: Thing) -> Thing:
        """Return what is kept of a pod, under a name that is unique in the cluster; a pod of a run takes nothing."""
        metadata, spec = pod["metadata"], pod.get("spec") or {}
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        kept = {"name": f"{namespace}/{name}", "uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
        if namespace == self._settings.namespace and run_of(pod) is not None:
            return {"metadata": kept, "held": None}
        asked = pod_requests(pod)
        held = Taking(
            node=spec.get("nodeName") or "",
            cpu=asked.get("cpu", Decimal(0)),
            memory=asked.get("memory", Decimal(0)),
            gpus=int(sum(asked.get(resource, Decimal(0)) for resource in self._settings.gpu_resources)),
            priority=int(spec.get("priority") or 0),
            whose=f"{_name_of(metadata)}, ns {namespace}",
        )
        return {"metadata": kept, "held": held}

    def changed(self, before: Thing | None, after: Thing | None) -> None:
        """Take in a change of a pod that `slim` has made small."""
        old: Taking | None = None if before is None else before["held"]
        new: Taking | None = None if after is None else after["held"]
        if old == new:
            return  # Its status has changed, or a label.
        if before is not None and old is not None:
            self._on[old.node].pop(before["metadata"]["name"], None)
            self._on_change(old.node)
        if after is not None and new is not None:
            self._on[new.node][after["metadata"]["name"]] = new
            self._on_change(new.node)

    def saw_rank(self, pod: Thing) -> None:
        """Learn the priority of ranks, which the API server has given to their pods."""
        spec = pod.get("spec") or {}
        removes = self._settings.binding == "affinity" and spec.get("preemptionPolicy") != "Never"
        lowest = int(spec.get("priority") or 0) if removes else None
        if lowest != self._lowest:
            self._lowest = lowest
            for node in list(self._on):
                self._on_change(node)

    def room(self, node: str, capacity: Capacity) -> Room:
        """Return the room on a node that has this capacity."""
        there = self._on.get(node)
        if not there:
            return Room()
        counted = [held for held in there.values() if self._lowest is None or held.priority >= self._lowest]
        gpus = _room_beside(counted, capacity, self._settings)
        return Room() if gpus is None else Room(gpus, _greediest(counted, capacity))


def _room_beside(pods: Sequence[Taking], capacity: Capacity, settings: ClusterSettings) -> int | None:
    """Return how many GPUs ranks may have beside these pods: as many as shares of a whole-node rank fit; None: all.

    One GPU of a node is one share of what a rank of the whole node requests.
    """
    size = capacity.gpu_count or 1
    left = [size - sum(held.gpus for held in pods)] if capacity.gpu_count else [size]
    cpu, memory = whole_request(capacity, settings)
    for total, taken, wanted in (
        (capacity.cpu, sum(held.cpu for held in pods), cpu),
        (capacity.memory, sum(held.memory for held in pods), memory),
    ):
        if wanted > 0:
            left.append(int((total - taken) * size / wanted))
    if len(pods) >= capacity.pods:
        left.append(0)
    room = max(0, min(left))
    return None if room >= size else room


def _greediest(pods: Iterable[Taking], capacity: Capacity) -> str:
    """Return whose pods take the most of the node: of its GPUs, then of its CPUs or memory."""
    taken: defaultdict[str, list[Decimal]] = defaultdict(lambda: [Decimal(0), Decimal(0), Decimal(0)])
    for held in pods:
        for place, amount in enumerate((Decimal(held.gpus), held.cpu, held.memory)):
            taken[held.whose][place] += amount

    def share(whose: str) -> tuple[Decimal, Decimal, str]:
        gpus, cpu, memory = taken[whose]
        return -gpus, -max(cpu / (capacity.cpu or 1), memory / (capacity.memory or 1)), whose

    return min(taken, key=share, default="")


def _name_of(metadata: dict[str, Any]) -> str:
    """Return what a pod is, as its labels, else its owner, else its own name say."""
    labels = metadata.get("labels") or {}
    named = next((labels[label] for label in _NAMES if labels.get(label)), "")
    owners = metadata.get("ownerReferences") or [{}]
    return str(named or owners[0].get("name") or metadata["name"])[:63]
