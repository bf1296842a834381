"""Turns a pod into the observation of its rank. Pure; each rule is one function."""

from __future__ import annotations

import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from hai_scheduler.adapters.kubernetes.blame import blame_for_end, blame_for_rejection, has_no_room
from hai_scheduler.adapters.kubernetes.builds import MAKING
from hai_scheduler.adapters.kubernetes.manifests import CONTAINER, INIT_CONTAINER
from hai_scheduler.adapters.kubernetes.pod_parts import FETCHING
from hai_scheduler.adapters.kubernetes.pod_status import (
    UNKNOWN,
    condition,
    container_of,
    container_state,
    deleted_at,
    failed_helper,
    has_started,
    is_over,
    is_unmade,
    line,
    waiting_for,
)
from hai_scheduler.adapters.kubernetes.record import Thing
from hai_scheduler.adapters.shared.status import (
    caught_of,
    checkpoint_of,
    ending_of,
    signal_of,
    signalled_of,
    summary_of,
    text_of,
    time_of,
)
from hai_scheduler.core.model.observation import RankObservation
from hai_scheduler.core.model.run import Blame, RankState

#: The platform's own init containers: what it means that one has failed.
_OURS: Final[Mapping[str, tuple[str, Blame]]] = {
    INIT_CONTAINER: ("the platform's files could not be brought into its pod", Blame.NODE),
    FETCHING: ("its environment could not be copied to its node's own disk", Blame.UNKNOWN),
    # It would fail on every node: the folder belongs to another account, or the root has not been made.
    MAKING: ("the folder of its environment could not be made", Blame.NOBODY),
}
#: Reasons of pods that their node or the cluster has ended: the rank was taken away from its user (H1).
_EVICTED: Final = "Evicted"
_TAKEN: Final = frozenset(
    {
        _EVICTED,
        "NodeLost",
        "NodeShutdown",
        "Preempting",
        "Shutdown",
        "Terminated",
    }
)
#: Condition of a pod that a taint, a drain or a preemption has ended, since 1.26; its reason says which.
_DISRUPTED: Final = "DisruptionTarget"
#: An eviction whose message holds one of these is the rank's own doing.
_OWN_DOING: Final = ("exceeds the total limit", "exceeds the limit", "exceeded its local ephemeral storage limit")
#: Reasons of containers that never became a process.
_NOT_STARTED: Final = frozenset({"ContainerCannotRun", "StartError", "CreateContainerError", "RunContainerError"})
_UNSEEN: Final = "it ended, and Kubernetes does not say how"
_UNMADE: Final = "its pod was deleted before its container had started"
#: The status given to a container that was seen to run, once the kubelet reports nothing more of it.
_ENDED_SOMEHOW: Final = [
    {"name": CONTAINER, "started": True, "state": {"terminated": {"reason": UNKNOWN, "exitCode": 137, "message": ""}}}
]
#: Greater statuses are signals: the supervisor had no chance to write its last words.
_SIGNALS: Final = 128
#: The greatest status of a process.
_MOST_STATUS: Final = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeHealth:
    """The state of the cluster around a pod, on which its rank's state depends too."""

    now: datetime
    #: Names of the Kubernetes nodes.
    nodes: AbstractSet[str]
    #: Since when nodes are not ready, by name; without the nodes that are ready.
    unready: Mapping[str, datetime]
    lost_after: timedelta

    def are_well(self, nodes: frozenset[str]) -> bool:
        """Whether all these nodes exist and are ready."""
        return nodes <= self.nodes and self.unready.keys().isdisjoint(nodes)


def observe_pod(rank: int, pod: Thing, around: NodeHealth) -> RankObservation:
    """Return what a pod shows of its rank. If the pod was deleted, `leaving_by` is when it will be ended."""
    ended = ended_rank(rank, pod)
    if ended is not None:
        return ended
    lost = _lost(pod, around)
    if lost:
        return RankObservation(rank=rank, state=RankState.LOST, message=lost)
    leaving = deleted_at(pod)
    if "running" in container_state(pod):
        return RankObservation(
            rank=rank,
            state=RankState.RUNNING,
            leaving_by=leaving,
            message="its pod is being deleted" if leaving else None,
        )
    return RankObservation(
        rank=rank,
        state=RankState.PENDING,
        leaving_by=leaving,
        message=waiting_for(pod) or None,
    )


def ended_rank(rank: int, pod: Thing) -> RankObservation | None:
    """Return what is known of a rank of which no process is left; None while one may be left (B4)."""
    terminated = container_state(pod).get("terminated")
    if terminated is not None:
        return _exited(rank, pod, terminated)
    status = pod.get("status") or {}
    return _ended_unseen(rank, status, pod) if is_over(status) else None


def keep_end(before: Thing, after: Thing) -> Thing:
    """Return the newer state of a pod, with what was seen of its container: no container starts again in these pods.

    While a pod is being deleted, kubelets may empty or leave out the status of a container that runs or has ended
    (1.20), or report it as unknown (1.27 and newer). A restarted kubelet may reject a pod whose container it has run.
    """
    if _seen_end(before) and not _seen_end(after):
        return {**after, "status": before["status"]}
    if has_started(before) and not has_started(after):
        status = after.get("status") or {}
        over = is_over(status) or "terminated" in container_state(after)
        kept = _ENDED_SOMEHOW if over else before["status"]["containerStatuses"]
        return {**after, "status": {**status, "containerStatuses": kept}}
    return after


def _seen_end(pod: Thing) -> bool:
    terminated = container_state(pod).get("terminated") or {}
    return is_rejected(pod) or not (_is_blank(terminated) or terminated.get("reason") == UNKNOWN)


def is_rejected(pod: Thing) -> bool:
    """Whether the node has rejected the pod before its container could run."""
    status = pod.get("status") or {}
    return is_over(status) and bool(status.get("reason")) and deleted_at(pod) is None and not _was_admitted(pod)


def _was_admitted(pod: Thing) -> bool:
    """Whether the node had admitted the pod, so that its container may have run, whatever its status says now."""
    status = pod.get("status") or {}
    helper = container_state(pod, INIT_CONTAINER).get("terminated")
    if status.get("podIP") or (helper is not None and not helper.get("exitCode")):
        return True
    ours = container_of(pod)
    return bool(ours.get("containerID") or ours.get("started") or ours.get("lastState"))


def _is_blank(terminated: dict[str, Any] | None) -> bool:
    """Whether a `terminated` state tells nothing about the end of the container."""
    return not terminated or not (terminated.get("reason") or terminated.get("finishedAt") or terminated.get("message"))


def _exited(rank: int, pod: Thing, terminated: dict[str, Any]) -> RankObservation:
    status = pod.get("status") or {}
    said = _last_words(terminated.get("message"))
    code, error, blame = _status_of(terminated, said)
    if not said.get("exited") and (_taken_away(status) or terminated.get("reason") == UNKNOWN):
        return _lost_rank(rank, pod, _why_lost(pod))
    if _is_blank(terminated):
        return _lost_rank(rank, pod, _UNSEEN)
    left = _ended_by(pod, terminated)
    told = time_of(said.get("notified_at"))
    return RankObservation(
        rank=rank,
        state=RankState.EXITED,
        exit_code=code,
        start_error=error if left is None else None,
        blame=blame,
        message=_message_of(status, terminated, said) or error,
        notified_at=told,
        signal=signal_of(said),
        # The supervisor's time is finer than the kubelet's, which is in whole seconds.
        ended_at=time_of(said.get("ended_at")) or time_of(terminated.get("finishedAt")),
        signalled=signalled_of(said),
        caught=caught_of(said),
        done=bool(said.get("done")),
        done_all=bool(said.get("done_all")),
        checkpoint=checkpoint_of(said.get("checkpoint")),
        spoilt=said.get("spoilt") is True,
        watched=watched if isinstance(watched := said.get("watched"), bool) else None,
        job_state=text_of(said.get("job_state")),
        summary=summary_of(said),
        # A rank that ends with 0 without a notice has simply finished.
        leaving_by=left if code != 0 or told is not None else None,
    )


def _ended_by(pod: Thing, terminated: dict[str, Any]) -> datetime | None:
    """Return when the rank was ended with its pod, deleted or taken away by its node; None if it ended before that."""
    ended = time_of(terminated.get("finishedAt"))
    leaving = deleted_at(pod)
    if leaving is None:
        return ended if _taken_away(pod.get("status") or {}) else None
    # Of a pod that is just being removed the server no longer knows the grace period.
    given = timedelta(seconds=pod["metadata"].get("deletionGracePeriodSeconds") or 0)
    return None if given and ended is not None and ended < leaving - given else leaving


def _lost_rank(rank: int, pod: Thing, why: str) -> RankObservation:
    return RankObservation(rank=rank, state=RankState.LOST, leaving_by=deleted_at(pod), message=why)


def _last_words(message: str | None) -> dict[str, Any]:
    """Return what the supervisor has written; `exited` says whether it had seen the end. Empty if it wrote nothing."""
    try:
        said = json.loads(message or "")
    except (ValueError, RecursionError):  # the job can write this message too, with any content
        return {}
    if not isinstance(said, dict) or "schema" not in said:
        return {}
    code, error = _code_of(said.get("exit_code")), text_of(said.get("start_error")) or None
    return {**said, "exit_code": code, "start_error": error, "exited": code is not None or error is not None}


def _code_of(value: Any) -> int | None:
    """Return a status that a process can have ended with; None for anything else."""
    return value if type(value) is int and abs(value) <= _MOST_STATUS else None


def _status_of(terminated: dict[str, Any], said: dict[str, Any]) -> tuple[int | None, str | None, Blame]:
    """Return the exit status, or else why the rank did not start; and what its node had to do with that."""
    if said.get("exited"):
        return said["exit_code"], said["start_error"], Blame.NODE
    code = int(terminated.get("exitCode", 0))
    reason, words = terminated.get("reason") or "", line(terminated.get("message"))
    if reason in _NOT_STARTED:
        return None, f"its container could not be started: {words or reason}", blame_for_end(words)
    if reason == "OOMKilled" or code == 0 or code > _SIGNALS or said:
        return code, None, Blame.NODE
    words = words or f"it ended with status {code} and said nothing"
    return None, f"its supervisor did not start (the image needs Python 3.8 or newer): {words}", Blame.NOBODY


def _why_lost(pod: Thing) -> str:
    """Return why a rank is lost: the cluster's own words, if it has any."""
    status = pod.get("status") or {}
    if status.get("reason") or condition(status, _DISRUPTED, "True"):
        return _words(status)
    return _UNMADE if is_unmade(pod) and deleted_at(pod) is not None else _UNSEEN


def _message_of(status: dict[str, Any], terminated: dict[str, Any], said: dict[str, Any]) -> str | None:
    """Return what users should know of an end: what the cluster says of it, then what the supervisor says."""
    ours = ending_of(said, out_of_memory=terminated.get("reason") == "OOMKilled")
    theirs = _words(status) if status.get("reason") or status.get("message") else None
    return "; ".join(filter(None, (theirs, ours))) or None


def _ended_unseen(rank: int, status: dict[str, Any], pod: Thing) -> RankObservation:
    """Return what a pod in its last phase shows without an end of its container: rejected, taken away or deleted."""
    if status.get("phase") == "Succeeded":
        # Kubernetes sets this phase only if every container ended with status 0.
        return RankObservation(rank=rank, state=RankState.EXITED, exit_code=0)
    if is_rejected(pod) and not _taken_away(status):
        why = f"its node rejected it: {_words(status)}"
        return replace(_not_started(rank, why, blame_for_rejection(pod)), crowded=has_no_room(pod))
    helper = failed_helper(pod)
    if helper and deleted_at(pod) is None and not _taken_away(status):
        return _helper_failed(rank, helper)
    return _lost_rank(rank, pod, _why_lost(pod))


def _helper_failed(rank: int, helper: dict[str, Any]) -> RankObservation:
    """Return a start error for a failed init container: one of ours, or one that the cluster adds (a mesh)."""
    ended = helper["state"]["terminated"]
    words = line(ended.get("message")) or f"it ended with status {ended['exitCode']}"
    if helper.get("name") in _OURS:
        what, blame = _OURS[helper["name"]]
        return _not_started(rank, f"{what}: {words}", blame)
    why = f"the init container {helper.get('name')}, which the cluster adds to its pod, failed: {words}"
    return _not_started(rank, why, Blame.UNKNOWN)


def _not_started(rank: int, why: str, blame: Blame = Blame.NODE) -> RankObservation:
    return RankObservation(rank=rank, state=RankState.EXITED, start_error=why, message=why, blame=blame)


def _taken_away(status: dict[str, Any]) -> bool:
    message = status.get("message") or ""
    taken = status.get("reason") in _TAKEN or bool(condition(status, _DISRUPTED, "True"))
    return taken and not any(words in message for words in _OWN_DOING)


def evicted(pod: Thing) -> str:
    """Return the kubelet's words if it has evicted the pod because its node was short of something; else empty."""
    status = pod.get("status") or {}
    return _words(status) if status.get("reason") == _EVICTED and _taken_away(status) else ""


def _words(status: dict[str, Any]) -> str:
    """Return the pod's reason and message; if it has none, those of the disruption that took it away."""
    said = status if status.get("reason") else condition(status, _DISRUPTED, "True") or status
    return ": ".join(part for part in (said.get("reason") or "", line(said.get("message"))) if part) or _UNSEEN


def _lost(pod: Thing, around: NodeHealth) -> str:
    """Return why the rank is lost: its node is gone, or not ready for too long. Empty while it is not certain."""
    name = (pod.get("spec") or {}).get("nodeName")
    if not name:
        return ""
    if name not in around.nodes:
        return f"node {name} is no longer in the cluster"
    since = around.unready.get(name)
    if since is not None and around.now - since > around.lost_after:
        return f"node {name} has not been ready since {since:%Y-%m-%d %H:%M:%S} UTC"
    return ""
