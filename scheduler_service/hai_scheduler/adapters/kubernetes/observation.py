"""Turns a run's Service and pods into an Observation, and finds gangs that do not come up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import MappingProxyType

from hai_scheduler.adapters.kubernetes import ranks
from hai_scheduler.adapters.kubernetes.blame import awaits_volume, blame_for_waiting, has_no_room
from hai_scheduler.adapters.kubernetes.pod_status import (
    blocked,
    container_state,
    deleted_at,
    has_ended,
    has_started,
    unscheduled_since,
    waiting_for,
    waits,
)
from hai_scheduler.adapters.kubernetes.ranks import NodeHealth, observe_pod
from hai_scheduler.adapters.kubernetes.record import Record, RunObjects, StartError, Thing
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.core.model.observation import Observation, RankObservation
from hai_scheduler.core.model.run import Blame, RankState

#: A gang is taken down when kube-scheduler has found no place for a rank of it for this long: it tries again with each
#: change of the node, and after 10 s at the latest.
PLACELESS_FOR = timedelta(seconds=25)
#: How long the order to end a run that was never launched is kept. A replica that was paused for longer between its
#: decision and its launch may still create pods; their supervisors ask the service before they start anything.
TOMBSTONES_STAY = timedelta(hours=1)
_NO_RECORD = Record(nodes=(), created_at=None, launched=False, killed=False, start_error=None, deleting=True)


def observe_run(run: RunObjects, around: NodeHealth) -> Observation:
    """Return what a run shows, rank by rank."""
    seen = (_observe_rank(run, rank, around) for rank in range(run.ranks))
    return _shown(run, tuple(rank for rank in seen if rank is not None), around)


def observe_roughly(run: RunObjects, around: NodeHealth, why: str) -> Observation:
    """Return what a run shows if something of it cannot be read: only what Kubernetes says of its containers.

    So the run can still be ended, and it is over once all its containers are.
    """
    seen = (_rough_rank(run, rank, around, why) for rank in range(run.ranks))
    return _shown(run, tuple(rank for rank in seen if rank is not None), around)


def _rough_rank(run: RunObjects, rank: int, around: NodeHealth, why: str) -> RankObservation | None:
    pod = run.pods.get(rank) or run.removed.get(rank)
    if pod is None:
        return _removed(rank, None, run.record or _NO_RECORD, around)
    state = container_state(pod)
    if has_ended(pod):
        code = (state.get("terminated") or {}).get("exitCode")
        return RankObservation(rank=rank, state=RankState.EXITED, exit_code=code, message=why)
    if rank not in run.pods:
        return RankObservation(rank=rank, state=RankState.LOST, message=why)
    return RankObservation(rank=rank, state=RankState.RUNNING if "running" in state else RankState.PENDING, message=why)


def _shown(run: RunObjects, shown: tuple[RankObservation, ...], around: NodeHealth) -> Observation:
    record = run.record
    finalized = record is None or record.deleting or is_kept(run, around.now)
    return Observation(
        run_id=run.run_id,
        ranks=shown,
        unfinalized=not finalized and all(rank.state.gone for rank in shown),
        killed=record is not None and record.killed,
        origin=run.origin,
        nodes=run.nodes,
        user=run.user,
    )


def is_tombstone(run: RunObjects) -> bool:
    """Whether nothing of the run exists but the order to end it, which came before any order to start it."""
    return run.record is not None and run.record.killed and not run.ranks


def is_kept(run: RunObjects, now: datetime) -> bool:
    """Whether the run is a tombstone that must stay, because a late launch may still have to find it."""
    made = run.record.created_at if run.record is not None else None
    return is_tombstone(run) and (made is None or now - made < TOMBSTONES_STAY)


def _observe_rank(run: RunObjects, rank: int, around: NodeHealth) -> RankObservation | None:
    record = run.record or _NO_RECORD
    pod, last = run.pods.get(rank), run.removed.get(rank)
    seen = observe_pod(rank, pod, around) if pod is not None else _removed(rank, last, record, around)
    if seen is None:
        return None
    if record.killed or record.start_error is not None:
        # The platform itself has ended the rank: it must not be shown as taken away by the cluster or an admin.
        seen = replace(seen, leaving_by=None)
        shown = pod or last
        if seen.state is RankState.LOST and shown is not None and ranks.ended_rank(rank, shown) is not None:
            # Only that it has ended matters: kubelets do not always say how. Of a container that was not created yet
            # they report an unknown status (1.27 and newer). The node has done nothing wrong (H3).
            seen = replace(seen, state=RankState.EXITED)
    if record.start_error is not None:
        seen = _with_start_error(seen, record.start_error)
    return seen


def _removed(rank: int, last: Thing | None, record: Record, around: NodeHealth) -> RankObservation | None:
    """Return what is known of a rank without a pod; `last` is the pod as last seen. None if no pod was ever seen."""
    ended = ranks.ended_rank(rank, last) if last is not None else None
    if ended is not None:
        return ended
    if record.killed:
        return RankObservation(rank=rank, state=RankState.EXITED, message="it was ended; its pod is gone")
    if record.start_error is not None:
        return RankObservation(rank=rank, state=RankState.EXITED)
    if record.launched or last is not None:
        leaving = deleted_at(last) if last is not None else None
        return RankObservation(
            rank=rank,
            state=RankState.LOST,
            leaving_by=leaving or _deleted_unseen(rank, record, around),
            message="its pod was removed from the cluster",
        )
    return None


def _deleted_unseen(rank: int, record: Record, around: NodeHealth) -> datetime | None:
    """Return now if the rank's node is well: then its pod was deleted while this service did not watch. Else None."""
    nodes = frozenset(record.nodes[rank : rank + 1])
    return around.now if nodes and around.are_well(nodes) else None


def _with_start_error(seen: RankObservation, error: StartError) -> RankObservation:
    if not seen.state.gone:
        return replace(seen, message=error.message)
    if seen.start_error is not None:
        return seen
    if seen.rank in error.speakers:
        seen = replace(
            seen,
            state=RankState.EXITED,
            exit_code=None,
            start_error=error.message,
            blame=error.blame,
            crowded=error.crowded,
        )
    # Not what kubelets write of a pod that is taken down: they may write it late, or not at all.
    return replace(seen, message=error.message)


@dataclass(frozen=True, slots=True)
class Steady:
    """A run that is not read again until it or one of its nodes changes; most runs are such, which makes ticks fast."""

    run: RunObjects
    shown: Observation
    nodes: frozenset[str]


def steady_of(run: RunObjects, shown: Observation) -> Steady | None:
    """Return the run as Steady if all its ranks run and time alone cannot change what it shows; else None."""
    record = run.record
    if record is None or not record.launched or record.killed or record.start_error or record.deleting:
        return None
    if any(rank.state is not RankState.RUNNING or rank.leaving_by is not None for rank in shown.ranks):
        return None
    names = [(pod.get("spec") or {}).get("nodeName") for pod in run.pods.values()]
    return Steady(run, shown, frozenset([name for name in names if name])) if len(names) == run.ranks else None


def not_up(
    run: RunObjects,
    now: datetime,
    settings: ClusterSettings,
    *,
    unmade: str = "",
    nodes: Mapping[str, Thing] = MappingProxyType({}),
) -> StartError | None:
    """Return why a gang must be taken down that has not come up in time; None if it need not be.

    `unmade` is why not all of its pods could be created, if that is known; `nodes` are those of Kubernetes, by name.

    The error names only the ranks that are to blame: the nodes of the others have done nothing wrong (H3). A rank whose
    pod is being deleted counts as up.
    """
    record = run.record
    if record is None or record.created_at is None or record.killed or record.start_error or record.deleting:
        return None
    waiting = [rank for rank in range(run.ranks) if not _up(run, rank)]
    age = now - record.created_at
    stuck = [rank for rank in waiting if rank in run.pods and blocked(run.pods[rank])]
    if stuck and age > settings.blocked_timeout:
        return _start_error(run, record, stuck, settings.blocked_timeout, unmade, nodes)
    placeless = [rank for rank in waiting if _placeless(run.pods.get(rank), now)]
    if placeless and age > PLACELESS_FOR:
        return _start_error(run, record, placeless, PLACELESS_FOR, unmade, nodes)
    if waiting and age > settings.start_timeout:
        return _start_error(run, record, waiting, settings.start_timeout, unmade, nodes)
    return None


def _placeless(pod: Thing | None, now: datetime) -> bool:
    """Whether kube-scheduler has found no place for the pod for too long, and waits for nothing that is under way."""
    since = None if pod is None or awaits_volume(pod) else unscheduled_since(pod)
    return since is not None and now - since > PLACELESS_FOR


def _up(run: RunObjects, rank: int) -> bool:
    pod = run.pods.get(rank) or run.removed.get(rank)
    if pod is None:
        return False
    return has_started(pod) or deleted_at(pod) is not None or has_ended(pod)


def _start_error(
    run: RunObjects, record: Record, waiting: list[int], limit: timedelta, unmade: str, nodes: Mapping[str, Thing]
) -> StartError:
    blame, waiting = _to_blame(run, record, waiting, nodes)
    first = waiting[0]
    pod = run.pods.get(first)
    why = waiting_for(pod) if pod is not None else ": ".join(filter(None, ("its pod could not be created", unmade)))
    node = record.nodes[first] if first < len(record.nodes) else "?"
    others = f" (and {len(waiting) - 1} more)" if len(waiting) > 1 else ""
    message = f"rank {first} on {node}{others} was not up after {limit.total_seconds():.0f} s"
    crowded = blame is Blame.NOBODY and all(
        has_no_room(run.pods.get(rank), _node_of(rank, record, nodes)) for rank in waiting
    )
    why = f"{why.rstrip('.')}; other pods have what it asks for" if crowded else why
    return StartError(
        message=f"{message}: {why or 'its pod was not started'}",
        ranks=tuple(waiting),
        blame=blame,
        crowded=crowded,
    )


def _to_blame(
    run: RunObjects, record: Record, waiting: list[int], nodes: Mapping[str, Thing]
) -> tuple[Blame, list[int]]:
    """Return the worst blame among the ranks that are not up, and the ranks that have it."""
    up = {node for rank, node in enumerate(record.nodes) if rank not in waiting and _up(run, rank)}
    blames = {
        rank: blame_for_waiting(
            run.pods.get(rank),
            waits(run.pods.get(rank)),
            others_up=bool(up - {*record.nodes[rank : rank + 1]}),
            node=_node_of(rank, record, nodes),
        )
        for rank in waiting
    }
    worst = next(blame for blame in (Blame.NODE, Blame.UNKNOWN, Blame.NOBODY) if blame in blames.values())
    return worst, [rank for rank in waiting if blames[rank] is worst]


def _node_of(rank: int, record: Record, nodes: Mapping[str, Thing]) -> Thing | None:
    return nodes.get(record.nodes[rank]) if rank < len(record.nodes) else None
