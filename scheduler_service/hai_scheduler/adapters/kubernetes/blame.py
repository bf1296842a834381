"""What a node has to do with a rank that could not be started on it (H3), and whether it only had no room (F5)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from hai_client.quantity import amount_of, pod_requests
from hai_scheduler.adapters.kubernetes.pod_status import unscheduled
from hai_scheduler.core.model.run import Blame

#: The image cannot be pulled: it does not exist, or this node cannot reach its registry.
_IMAGE: Final = frozenset(
    {"ErrImageNeverPull", "ErrImagePull", "ImageInspectError", "ImagePullBackOff", "RegistryUnavailable"}
)
#: An invalid image name, or a Secret, a ConfigMap or a right that is missing in the namespace: the same on any node.
_ANYWHERE: Final = frozenset({"CreateContainerConfigError", "InvalidImageName"})
#: What a container runtime says when the program is missing in the image.
_NO_PROGRAM: Final = ("executable file not found", "no such file or directory")
#: What kube-scheduler says of a node without room for a pod.
_INSUFFICIENT: Final = re.compile(r"\bInsufficient \S|\bToo many pods\b")
#: Reasons of a kubelet for a pod that it has no room for: OutOfcpu, OutOfpods, OutOfnvidia.com/gpu.
_OUT_OF: Final = re.compile(r"OutOf[a-z]\S*")
#: How much a pod asks for and a node has, in the message beside it.
_NUMBERS: Final = re.compile(r"requested: (\d+), used: \d+, capacity: (\d+)")
#: What a kubelet says when other pods still have the devices, with the reason UnexpectedAdmissionError.
_DEVICES: Final = "requested number of devices unavailable"
#: Reasons of a kubelet that only say that node and pod do not go together: labels or taints that have just changed, a
#: port that another pod has, NUMA nodes that other pods have parts of.
_MISMATCH: Final = frozenset({"NodeAffinity", "NodeName", "NodePorts", "TaintToleration", "TopologyAffinityError"})


def has_no_room(pod: dict[str, Any] | None, node: Mapping[str, Any] | None = None) -> bool:
    """Whether kube-scheduler or a kubelet says that other pods have what the pod asks for on its node.

    Args:
        pod: The pod; None: it could not be created.
        node: Its node, where it is known: what this does not have at all, no other pod has.
    """
    if pod is None:
        return False
    status = pod.get("status") or {}
    reason, message = status.get("reason") or "", status.get("message") or ""
    if _OUT_OF.fullmatch(reason):
        numbers = _NUMBERS.search(message)
        return numbers is None or int(numbers[1]) <= int(numbers[2])
    if reason == "UnexpectedAdmissionError" and _DEVICES in message:
        return True
    return bool(_INSUFFICIENT.search(_refusal(pod))) and not (node and _asks_too_much(pod, node))


def _asks_too_much(pod: dict[str, Any], node: Mapping[str, Any]) -> bool:
    has = (node.get("status") or {}).get("allocatable") or {}
    return any(asked > amount_of(has.get(name)) for name, asked in pod_requests(pod).items() if asked)


def blame_for_waiting(
    pod: dict[str, Any] | None, waiting: dict[str, Any], *, others_up: bool, node: Mapping[str, Any] | None = None
) -> Blame:
    """Return what a node has to do with a rank on it that does not come up.

    Args:
        pod: The rank's pod; None if the pod could not be created.
        waiting: The `waiting` state of the rank's container, as Kubernetes reports it.
        others_up: Whether ranks of the same run have come up on other nodes.
        node: The rank's node, where it is known.
    """
    if pod is None:
        return Blame.NOBODY
    reason = waiting.get("reason")
    if reason in _ANYWHERE or awaits_volume(pod) or has_no_room(pod, node):
        return Blame.NOBODY
    if not (pod.get("spec") or {}).get("nodeName"):
        # The node has never heard of the pod. What kube-scheduler says may be true of this node alone.
        return Blame.UNKNOWN if _refusal(pod) else Blame.NOBODY
    if reason in _IMAGE:
        return Blame.NODE if others_up else Blame.UNKNOWN
    return Blame.NODE


def blame_for_rejection(pod: dict[str, Any]) -> Blame:
    """Return what a node has to do with it that it has rejected a pod before any container could start."""
    if has_no_room(pod):
        return Blame.NOBODY
    reason = (pod.get("status") or {}).get("reason") or ""
    return Blame.UNKNOWN if reason in _MISMATCH or _OUT_OF.fullmatch(reason) else Blame.NODE


def blame_for_end(message: str) -> Blame:
    """Return what a node has to do with a container that never became a process, from the runtime's `message`."""
    return Blame.NOBODY if any(words in message for words in _NO_PROGRAM) else Blame.NODE


def awaits_volume(pod: dict[str, Any]) -> bool:
    """Whether kube-scheduler says that the pod waits for a volume claim."""
    return "persistentvolumeclaim" in _refusal(pod).lower()


def _refusal(pod: dict[str, Any]) -> str:
    return unscheduled(pod).get("message") or ""
