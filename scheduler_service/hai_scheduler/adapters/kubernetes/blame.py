"""What a node has to do with a rank that could not be started on it (H3)."""

from __future__ import annotations

from typing import Any, Final

from hai_scheduler.core.model.run import Blame

#: The image cannot be pulled: it does not exist, or this node cannot reach its registry.
_IMAGE: Final = frozenset(
    {"ErrImageNeverPull", "ErrImagePull", "ImageInspectError", "ImagePullBackOff", "RegistryUnavailable"}
)
#: An invalid image name, or a Secret, a ConfigMap or a right that is missing in the namespace: the same on any node.
_ANYWHERE: Final = frozenset({"CreateContainerConfigError", "InvalidImageName"})
#: What a container runtime says when the program is missing in the image.
_NO_PROGRAM: Final = ("executable file not found", "no such file or directory")


def blame_for_waiting(pod: dict[str, Any] | None, waiting: dict[str, Any], *, others_up: bool) -> Blame:
    """Return what a node has to do with a rank on it that does not come up.

    Args:
        pod: The rank's pod; None if the pod could not be created.
        waiting: The `waiting` state of the rank's container, as Kubernetes reports it.
        others_up: Whether ranks of the same run have come up on other nodes.
    """
    if pod is None:
        return Blame.NOBODY
    reason = waiting.get("reason")
    if reason in _ANYWHERE or "persistentvolumeclaim" in _unscheduled(pod).lower():
        return Blame.NOBODY
    if reason in _IMAGE:
        return Blame.NODE if others_up else Blame.UNKNOWN
    return Blame.NODE


def blame_for_end(message: str) -> Blame:
    """Return what a node has to do with a container that never became a process, from the runtime's `message`."""
    return Blame.NOBODY if any(words in message for words in _NO_PROGRAM) else Blame.NODE


def _unscheduled(pod: dict[str, Any]) -> str:
    for condition in (pod.get("status") or {}).get("conditions") or []:
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return condition.get("message") or ""
    return ""
