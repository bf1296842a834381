"""Reads a pod's status, in the terms of Kubernetes. Pure functions that draw no conclusions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from hai_scheduler.adapters.kubernetes.manifests import CONTAINER, INIT_CONTAINER
from hai_scheduler.adapters.kubernetes.record import Thing
from hai_scheduler.adapters.shared.status import time_of

#: Reasons for which a container is not created until a person or a registry changes something.
BLOCKED: Final = frozenset(
    {
        "CreateContainerConfigError",
        "CreateContainerError",
        "ErrImageNeverPull",
        "ErrImagePull",
        "ImageInspectError",
        "ImagePullBackOff",
        "InvalidImageName",
        "RegistryUnavailable",
        "RunContainerError",
    }
)
#: A kubelet's reason for a container of which it knows nothing: it is gone, or was never created (since 1.27).
UNKNOWN: Final = "ContainerStatusUnknown"


def deleted_at(pod: Thing) -> datetime | None:
    """Return when a deleted pod is, or was, to be ended; None if it has not been deleted."""
    return time_of(pod["metadata"].get("deletionTimestamp"))


def container_of(pod: Thing, name: str = CONTAINER) -> dict[str, Any]:
    """Return the status of the rank's container, or of the one named; empty before there is one."""
    status = pod.get("status") or {}
    for kind in ("containerStatuses", "initContainerStatuses"):
        for container in status.get(kind) or []:
            if container.get("name") == name:
                return dict(container)
    return {}


def container_state(pod: Thing, name: str = CONTAINER) -> dict[str, Any]:
    """Return the state of a container: `waiting`, `running` or `terminated`; empty before there is one."""
    return dict(container_of(pod, name).get("state") or {})


def has_started(pod: Thing) -> bool:
    """Whether the pod's supervisor is, or was, up."""
    state = container_state(pod)
    return "running" in state or ("terminated" in state and not is_unmade(pod))


def is_unmade(pod: Thing) -> bool:
    """Whether a kubelet reports the rank's container as ended, and nothing shows that it was ever created.

    Since 1.27 every pod gets a last phase: if it is deleted before its container starts, the kubelet writes that the
    container ended with status 137 and the reason `ContainerStatusUnknown`.
    """
    container = container_of(pod)
    terminated = (container.get("state") or {}).get("terminated") or {}
    made = container.get("containerID") or container.get("started") or container.get("lastState")
    return terminated.get("reason") == UNKNOWN and not (made or terminated.get("startedAt"))


def is_over(status: dict[str, Any]) -> bool:
    """Whether a pod with this status is in its last phase."""
    return status.get("phase") in ("Failed", "Succeeded")


def has_ended(pod: Thing) -> bool:
    """Whether no process of the rank is left, however it ended."""
    return "terminated" in container_state(pod) or is_over(pod.get("status") or {})


def condition(status: dict[str, Any], kind: str, value: str) -> dict[str, Any]:
    """Return the pod's condition of this kind if it has that value; else empty."""
    for found in status.get("conditions") or []:
        if found.get("type") == kind and found.get("status") == value:
            return dict(found)
    return {}


def failed_helper(pod: Thing) -> dict[str, Any]:
    """Return the status of the first init container that has failed, the platform's or an added one; else empty."""
    for container in (pod.get("status") or {}).get("initContainerStatuses") or []:
        terminated = (container.get("state") or {}).get("terminated") or {}
        if terminated.get("exitCode"):
            return dict(container)
    return {}


def unscheduled(pod: Thing) -> dict[str, Any]:
    """Return the condition by which kube-scheduler says why it cannot place the pod; else empty."""
    return condition(pod.get("status") or {}, "PodScheduled", "False")


def unscheduled_since(pod: Thing) -> datetime | None:
    """Return since when kube-scheduler has found no place for the pod; None: it has, it makes one, or it may not."""
    refused = unscheduled(pod)
    if refused.get("reason") != "Unschedulable" or (pod.get("status") or {}).get("nominatedNodeName"):
        return None
    return time_of(refused.get("lastTransitionTime"))


def waiting_for(pod: Thing) -> str:
    """Return in words what keeps a pod from running; empty if it only starts as usual."""
    if nowhere := unscheduled(pod):
        return f"{nowhere.get('reason') or 'Unschedulable'}: {line(nowhere.get('message'))}"
    waiting = waits(pod)
    return f"{waiting['reason']}: {line(waiting.get('message'))}".removesuffix(": ") if waiting else ""


def waits(pod: Thing | None) -> dict[str, Any]:
    """Return the `waiting` state that keeps a container of the pod from being created; empty if none does."""
    if pod is None:
        return {}
    return next((waiting for waiting in _waiting(pod) if waiting.get("reason") in BLOCKED), {})


def _waiting(pod: Thing) -> Iterator[dict[str, Any]]:
    """Yield the `waiting` states of the platform's containers, then those of init containers that others have added."""
    status = pod.get("status") or {}
    added = [one.get("name") for one in status.get("initContainerStatuses") or []]
    for name in dict.fromkeys((INIT_CONTAINER, CONTAINER, *added)):
        yield container_state(pod, name).get("waiting") or {}


def blocked(pod: Thing) -> bool:
    """Whether a container of the pod cannot be created until something is changed."""
    return bool(waits(pod))


def line(text: str | None) -> str:
    """Return the last line that is not empty, at most 500 characters of it."""
    lines = [one.strip() for one in (text or "").splitlines() if one.strip()]
    return lines[-1][:500] if lines else ""
