"""What a node has to do with a rank that could not be started on it (H3)."""

from __future__ import annotations

from typing import Any, Final

from hai_scheduler.core.model.run import Blame

#: The image is not to be had: for want of it, or of this node's way to it.
_IMAGE: Final = frozenset(
    {"ErrImageNeverPull", "ErrImagePull", "ImageInspectError", "ImagePullBackOff", "RegistryUnavailable"}
)
#: A name that is none; a Secret, a ConfigMap or a right that the namespace does not have.
_ANYWHERE: Final = frozenset({"CreateContainerConfigError", "InvalidImageName"})
#: What a container's runtime says of an image in which the program is missing.
_NO_PROGRAM: Final = ("executable file not found", "no such file or directory")


def blame_for_waiting(pod: dict[str, Any] | None, waiting: dict[str, Any], *, others_up: bool) -> Blame:
    """For a rank that does not come up.

    Args:
        pod: Its pod; None if that could not even be created.
        waiting: Why its container is not there, as Kubernetes says it.
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
    """For a container that never became a process; `message` is its runtime's."""
    return Blame.NOBODY if any(words in message for words in _NO_PROGRAM) else Blame.NODE


def _unscheduled(pod: dict[str, Any]) -> str:
    for condition in (pod.get("status") or {}).get("conditions") or []:
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return condition.get("message") or ""
    return ""
