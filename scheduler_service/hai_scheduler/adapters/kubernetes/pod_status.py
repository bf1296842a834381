"""What a pod's status says, in the words of Kubernetes. Pure; nothing is concluded here."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from hai_scheduler.adapters.kubernetes.manifests import CONTAINER, INIT_CONTAINER
from hai_scheduler.adapters.kubernetes.record import Thing
from hai_scheduler.adapters.shared.status import time_of

#: What keeps a container from being made until somebody does something about it.
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
#: Kubelets' word for a container of which they know nothing: it is gone, or it was never made (since 1.27).
UNKNOWN: Final = "ContainerStatusUnknown"


def deleted_at(pod: Thing) -> datetime | None:
    """When the pod is ended, or was, because somebody has deleted it; None if nobody has."""
    return time_of(pod["metadata"].get("deletionTimestamp"))


def container_of(pod: Thing, name: str = CONTAINER) -> dict[str, Any]:
    """The status of the rank's container, or of another one; empty before there is one."""
    status = pod.get("status") or {}
    for kind in ("containerStatuses", "initContainerStatuses"):
        for container in status.get(kind) or []:
            if container.get("name") == name:
                return dict(container)
    return {}


def container_state(pod: Thing, name: str = CONTAINER) -> dict[str, Any]:
    """The state of the rank's container: `waiting`, `running` or `terminated`; empty before there is one."""
    return dict(container_of(pod, name).get("state") or {})


def has_started(pod: Thing) -> bool:
    """Whether its supervisor is, or was, up."""
    state = container_state(pod)
    return "running" in state or ("terminated" in state and not is_unmade(pod))


def is_unmade(pod: Thing) -> bool:
    """Whether a kubelet says of the rank's container that it has ended, and nothing shows that it was ever made.

    Since 1.27 every pod gets a last phase: of one that is deleted before its container starts, the kubelet writes
    that it ended with status 137 for a reason that nobody knows.
    """
    container = container_of(pod)
    terminated = (container.get("state") or {}).get("terminated") or {}
    made = container.get("containerID") or container.get("started") or container.get("lastState")
    return terminated.get("reason") == UNKNOWN and not (made or terminated.get("startedAt"))


def is_over(status: dict[str, Any]) -> bool:
    """Whether the pod has come to its last phase."""
    return status.get("phase") in ("Failed", "Succeeded")


def has_ended(pod: Thing) -> bool:
    """Whether none of the rank's processes is left, however it ended."""
    return "terminated" in container_state(pod) or is_over(pod.get("status") or {})


def condition(status: dict[str, Any], kind: str, value: str) -> dict[str, Any]:
    """The condition of a pod, if it has that value; else empty."""
    for found in status.get("conditions") or []:
        if found.get("type") == kind and found.get("status") == value:
            return dict(found)
    return {}


def failed_helper(pod: Thing) -> dict[str, Any]:
    """The status of an init container that has failed, ours or one that the cluster has added; else empty."""
    for container in (pod.get("status") or {}).get("initContainerStatuses") or []:
        terminated = (container.get("state") or {}).get("terminated") or {}
        if terminated.get("exitCode"):
            return dict(container)
    return {}


def unscheduled(pod: Thing) -> dict[str, Any]:
    """The condition by which the scheduler of Kubernetes says why it puts the pod nowhere; else empty."""
    return condition(pod.get("status") or {}, "PodScheduled", "False")


def waiting_for(pod: Thing) -> str:
    """What a pod that does not run yet waits for, in words; empty if that is nothing out of the ordinary."""
    if nowhere := unscheduled(pod):
        return f"{nowhere.get('reason') or 'Unschedulable'}: {line(nowhere.get('message'))}"
    waiting = waits(pod)
    return f"{waiting['reason']}: {line(waiting.get('message'))}".removesuffix(": ") if waiting else ""


def waits(pod: Thing | None) -> dict[str, Any]:
    """What keeps a container of the pod from being made, as Kubernetes says it; empty if that is nothing."""
    if pod is None:
        return {}
    return next((waiting for waiting in _waiting(pod) if waiting.get("reason") in BLOCKED), {})


def _waiting(pod: Thing) -> Iterator[dict[str, Any]]:
    """What the containers wait for that must be made before the supervisor is up: ours, then what others have added."""
    status = pod.get("status") or {}
    added = [one.get("name") for one in status.get("initContainerStatuses") or []]
    for name in dict.fromkeys((INIT_CONTAINER, CONTAINER, *added)):
        yield container_state(pod, name).get("waiting") or {}


def blocked(pod: Thing) -> bool:
    """Whether a container of the pod cannot be made as things are."""
    return bool(waits(pod))


def line(text: str | None) -> str:
    """The last line that says something, short."""
    lines = [one.strip() for one in (text or "").splitlines() if one.strip()]
    return lines[-1][:500] if lines else ""
