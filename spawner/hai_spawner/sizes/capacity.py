"""What is free on the nodes, as a pure function of what the API server lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from hai_spawner.sizes.quantity import Amounts, format_bytes, format_count, parse_quantity

#: An object as the API server's JSON has it.
Json = Mapping[str, Any]

_GONE: Final = frozenset({"Succeeded", "Failed"})
_KEEPS_AWAY: Final = frozenset({"NoSchedule", "NoExecute"})
#: Which server a pod is, as KubeSpawner notes it.
_USER: Final = "hub.jupyter.org/username"
_SERVER: Final = "hub.jupyter.org/servername"


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What is left of a node.

    Attributes:
        node: Its name.
        total: What it has for pods.
        free: What pods have not asked for; may be below zero.
        labels: Its labels.
    """

    node: str
    total: Amounts
    free: Amounts
    labels: Mapping[str, str] = field(default_factory=dict)

    def holds(self, needs: Amounts) -> bool:
        """Whether so much is free here."""
        return all(self.free.get(name, Decimal(0)) >= amount for name, amount in needs.items())

    def less(self, needs: Amounts) -> Room:
        """The same after something has taken its place here."""
        free = {name: amount - needs.get(name, Decimal(0)) for name, amount in self.free.items()}
        return Room(node=self.node, total=self.total, free=free, labels=self.labels)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Something that needs a place and has none yet.

    Attributes:
        needs: What it takes.
        node_selector: Labels that its node must have.
    """

    needs: Amounts
    node_selector: Mapping[str, str] = field(default_factory=dict)


def rooms(
    nodes: Iterable[Json], pods: Iterable[Json], *, tolerations: Iterable[Json] = (), claims: Iterable[Claim] = ()
) -> list[Room]:
    """What is left of the nodes that can take a new pod.

    Args:
        nodes: The nodes of the Jupyter node group.
        pods: Pods that may be on them. Those without a node yet take the tightest place that holds them.
        tolerations: Of the pod that is to be placed.
        claims: What has been granted and is no pod yet.
    """
    asked = [pod for pod in pods if pod.get("status", {}).get("phase") not in _GONE]
    by_node: dict[str, list[Json]] = {}
    waiting: list[Claim] = []
    for pod in asked:
        spec = pod.get("spec", {})
        if name := spec.get("nodeName"):
            by_node.setdefault(name, []).append(pod)
        else:
            waiting.append(Claim(needs=requests(pod), node_selector=spec.get("nodeSelector") or {}))
    tolerated = tuple(tolerations)
    found = [_room(node, by_node.get(node["metadata"]["name"], ())) for node in nodes if _takes_pods(node, tolerated)]
    for claim in (*waiting, *claims):
        found = place(found, claim) or found
    return found


def place(found: Sequence[Room], claim: Claim) -> list[Room] | None:
    """The rooms after a claim has got the tightest place that holds it; None if none does."""
    fitting = [room for room in found if _selected(room, claim) and room.holds(claim.needs)]
    if not fitting:
        return None
    tightest = min(fitting, key=lambda room: (_slack(room, claim.needs), room.node))
    return [room.less(claim.needs) if room is tightest else room for room in found]


def how_many(found: Sequence[Room], claim: Claim) -> int | None:
    """How many of the same would find a place; None: any number."""
    total = Decimal(0)
    for room in found:
        if _selected(room, claim):
            amounts = [(room.free.get(name, Decimal(0)), need) for name, need in claim.needs.items() if need > 0]
            total += max(Decimal(0), min((free // need for free, need in amounts), default=Decimal(0)))
    return int(total) if total.is_finite() else None


def why_not(found: Sequence[Room], claim: Claim) -> str:
    """Why a claim finds no place, as a sentence without an end: what all of its nodes lack."""
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
    """Which user's server a pod is; None for any other pod."""
    notes = pod.get("metadata", {}).get("annotations") or {}
    return (notes[_USER], notes.get(_SERVER, "")) if _USER in notes else None


def requests(pod: Json) -> Amounts:
    """What a pod asks for: its containers together or its largest init container, whichever is more."""
    spec = pod.get("spec", {})
    total: dict[str, Decimal] = {}
    for container in spec.get("containers") or ():
        _add(total, _asked(container))
    for container in spec.get("initContainers") or ():
        asked = _asked(container)
        if container.get("restartPolicy") == "Always":
            _add(total, asked)
        else:
            total = {name: max(total.get(name, Decimal(0)), asked.get(name, Decimal(0))) for name in {*total, *asked}}
    _add(total, _amounts(spec.get("overhead")))
    return total | {"pods": Decimal(1)}


def _asked(container: Json) -> Amounts:
    resources = container.get("resources") or {}
    # A limit without a request is one.
    return {**_amounts(resources.get("limits")), **_amounts(resources.get("requests"))}


def _amounts(table: Json | None) -> dict[str, Decimal]:
    return {name: parse_quantity(text) for name, text in (table or {}).items()}


def _add(total: dict[str, Decimal], more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, Decimal(0)) + amount


def _room(node: Json, pods: Iterable[Json]) -> Room:
    total = _amounts(node.get("status", {}).get("allocatable"))
    labels = node["metadata"].get("labels") or {}
    room = Room(node=node["metadata"]["name"], total=total, free=total, labels=labels)
    for pod in pods:
        room = room.less(requests(pod))
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


def _selected(room: Room, claim: Claim) -> bool:
    return all(room.labels.get(key) == value for key, value in claim.node_selector.items())


def _slack(room: Room, needs: Amounts) -> Decimal:
    """What would be left of its devices, as they are what is scarce; then of its cores."""
    devices = sum((amount for name, amount in room.free.items() if "/" in name and name in needs), Decimal(0))
    spare = sum((amount for name, amount in room.free.items() if "/" in name and name not in needs), Decimal(0))
    return (devices + spare) * 1_000_000 + room.free.get("cpu", Decimal(0))


def _amount(name: str, amount: Decimal) -> str:
    if name == "memory":
        return format_bytes(amount)
    return f"{format_count(amount)} {'CPU' if name == 'cpu' else name}"
