"""Compute what is free on the nodes: pure functions of the API server's lists of nodes and pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from hai_client.quantity import format_bytes, format_count, parse_quantity, pod_requests
from hai_spawner.sizes.catalogue import Amounts

#: An object in the API server's JSON form.
Json = Mapping[str, Any]

_GONE: Final = frozenset({"Succeeded", "Failed"})
_KEEPS_AWAY: Final = frozenset({"NoSchedule", "NoExecute"})
#: Annotations in which KubeSpawner names the user and the server of a pod.
_USER: Final = "hub.jupyter.org/username"
_SERVER: Final = "hub.jupyter.org/servername"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCapacity:
    """Free capacity of a node."""

    node: str  #: Name of the node.
    total: Amounts  #: What the node has for pods (`allocatable`).
    free: Amounts  #: `total` less the requests of its pods; may be below zero.
    labels: Mapping[str, str] = field(default_factory=dict)  #: Labels of the node.

    def holds(self, needs: Amounts) -> bool:
        """Return whether these amounts are free on the node."""
        return all(self.free.get(name, Decimal(0)) >= amount for name, amount in needs.items())

    def less(self, needs: Amounts) -> NodeCapacity:
        """Return the room that is left after these amounts are taken."""
        free = {name: amount - needs.get(name, Decimal(0)) for name, amount in self.free.items()}
        return NodeCapacity(node=self.node, total=self.total, free=free, labels=self.labels)


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingPod:
    """A pod that is not on a node yet, or a server that has been granted and has no pod yet."""

    needs: Amounts  #: Amounts that it takes from a node.
    node_selector: Mapping[str, str] = field(default_factory=dict)  #: Labels that its node must have.


def rooms(
    nodes: Iterable[Json], pods: Iterable[Json], *, tolerations: Iterable[Json] = (), claims: Iterable[PendingPod] = ()
) -> list[NodeCapacity]:
    """Return the free capacity of the nodes that can take a new pod.

    Args:
        nodes: The nodes of the Jupyter node group.
        pods: Pods that may be on these nodes. A pod without a node counts on the node where it fits most tightly.
        tolerations: Tolerations of the new pod.
        claims: Servers that have been granted and have no pod yet.
    """
    asked = [pod for pod in pods if pod.get("status", {}).get("phase") not in _GONE]
    by_node: dict[str, list[Json]] = {}
    waiting: list[PendingPod] = []
    for pod in asked:
        spec = pod.get("spec", {})
        if name := spec.get("nodeName"):
            by_node.setdefault(name, []).append(pod)
        else:
            waiting.append(PendingPod(needs=pod_requests(pod), node_selector=spec.get("nodeSelector") or {}))
    tolerated = tuple(tolerations)
    found = [_room(node, by_node.get(node["metadata"]["name"], ())) for node in nodes if _takes_pods(node, tolerated)]
    for claim in (*waiting, *claims):
        found = place(found, claim) or found
    return found


def place(found: Sequence[NodeCapacity], claim: PendingPod) -> list[NodeCapacity] | None:
    """Return the rooms after a claim has been placed where it fits most tightly; None if it fits nowhere."""
    fitting = [room for room in found if _selected(room, claim) and room.holds(claim.needs)]
    if not fitting:
        return None
    tightest = min(fitting, key=lambda room: (_slack(room, claim.needs), room.node))
    return [room.less(claim.needs) if room is tightest else room for room in found]


def how_many(found: Sequence[NodeCapacity], claim: PendingPod) -> int | None:
    """Return how many claims of this kind would fit; None: any number."""
    total = Decimal(0)
    for room in found:
        if _selected(room, claim):
            amounts = [(room.free.get(name, Decimal(0)), need) for name, need in claim.needs.items() if need > 0]
            total += max(Decimal(0), min((free // need for free, need in amounts), default=Decimal(0)))
    return int(total) if total.is_finite() else None


def why_not(found: Sequence[NodeCapacity], claim: PendingPod) -> str:
    """Return why a claim fits on no node, as a sentence without a full stop."""
    fitting = [room for room in found if _selected(room, claim)]
    if not fitting:
        return "no node of its kind is up"
    for name, need in claim.needs.items():
        largest = max(room.total.get(name, Decimal(0)) for room in fitting)
        if largest < need:
            return f"no node is large enough: the largest has {_amount(name, largest)}"
    for name, need in claim.needs.items():
        if all(room.free.get(name, Decimal(0)) < need for room in fitting):
            free = max(Decimal(0), *(room.free.get(name, Decimal(0)) for room in fitting))
            most = f"; the most is {_amount(name, free)}" if free else ""
            return f"no node has {_amount(name, need)} free{most}"
    return "no node has all that it needs at once"


def server_of(pod: Json) -> tuple[str, str] | None:
    """Return user and name of the server that a pod is; None for any other pod."""
    notes = pod.get("metadata", {}).get("annotations") or {}
    return (notes[_USER], notes.get(_SERVER, "")) if _USER in notes else None


def _amounts(table: Json | None) -> dict[str, Decimal]:
    return {name: parse_quantity(text) for name, text in (table or {}).items()}


def _room(node: Json, pods: Iterable[Json]) -> NodeCapacity:
    total = _amounts(node.get("status", {}).get("allocatable"))
    labels = node["metadata"].get("labels") or {}
    room = NodeCapacity(node=node["metadata"]["name"], total=total, free=total, labels=labels)
    for pod in pods:
        room = room.less(pod_requests(pod))
    return room


def _takes_pods(node: Json, tolerations: Iterable[Json]) -> bool:
    spec = node.get("spec", {})
    ready = any(
        condition.get("type") == "Ready" and condition.get("status") == "True"
        for condition in node.get("status", {}).get("conditions") or ()
    )
    taints = [taint for taint in spec.get("taints") or () if taint.get("effect") in _KEEPS_AWAY]
    return ready and not spec.get("unschedulable") and all(_tolerated(taint, tolerations) for taint in taints)


def _tolerated(taint: Json, tolerations: Iterable[Json]) -> bool:
    return any(
        toleration.get("key") in (None, "", taint.get("key"))
        and toleration.get("effect") in (None, "", taint.get("effect"))
        and (toleration.get("operator") == "Exists" or toleration.get("value", "") == taint.get("value", ""))
        for toleration in tolerations
    )


def _selected(room: NodeCapacity, claim: PendingPod) -> bool:
    return all(room.labels.get(key) == value for key, value in claim.node_selector.items())


def _slack(room: NodeCapacity, needs: Amounts) -> Decimal:
    """Return what sorts rooms from tight to loose: free devices first, because they are scarce, then free cores."""
    devices = sum((amount for name, amount in room.free.items() if "/" in name and name in needs), Decimal(0))
    spare = sum((amount for name, amount in room.free.items() if "/" in name and name not in needs), Decimal(0))
    return (devices + spare) * 1_000_000 + room.free.get("cpu", Decimal(0))


def _amount(name: str, amount: Decimal) -> str:
    if name == "memory":
        return format_bytes(amount)
    return f"{format_count(amount)} {'CPU' if name == 'cpu' else name}"
