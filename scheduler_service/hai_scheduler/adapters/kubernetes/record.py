"""The record of a run in its Service, and the run as its Service and its pods show it together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self

from hai_scheduler.adapters.kubernetes.names import (
    KILLED,
    LAUNCHED,
    NODES,
    START_ERROR,
    origin_of,
    rank_of,
    run_of,
    user_of,
)
from hai_scheduler.adapters.shared.status import text_of
from hai_scheduler.core.model.ids import Origin, RunId
from hai_scheduler.core.model.run import Blame

Thing = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class StartError:
    """Why a run could not be started."""

    message: str
    #: The ranks that could not be started; the others are ended with them. Empty: rank 0 reports it for the run.
    ranks: tuple[int, ...]
    #: What the nodes of these ranks had to do with it (H3); NOBODY where no rank is named.
    blame: Blame = Blame.NODE
    #: Their nodes had no room for these ranks beside pods from outside of HAI (F5).
    crowded: bool = False

    @property
    def speakers(self) -> tuple[int, ...]:
        """The ranks that report the error: those that are named, else rank 0."""
        return self.ranks or (0,)

    def to_annotation(self) -> dict[str, str]:
        """Return the error as an annotation of the run's Service."""
        said: dict[str, Any] = {"message": self.message[:1000], "ranks": self.ranks, "blame": self.blame.value}
        if self.crowded:
            said["crowded"] = True
        return {START_ERROR: json.dumps(said)}

    @classmethod
    def of(cls, service: Thing | None) -> Self | None:
        """Read the error from a run's Service; None if there is none, or no Service."""
        return None if service is None else cls.from_annotations(service["metadata"].get("annotations") or {})

    @classmethod
    def from_annotations(cls, annotations: Mapping[str, str]) -> Self | None:
        """Read the error from annotations of the Service; None if there is none."""
        data = _json(annotations.get(START_ERROR))
        if not isinstance(data, dict):
            return None
        found = data.get("ranks")
        ranks = tuple(rank for rank in found if isinstance(rank, int)) if isinstance(found, list) else ()
        blame = data.get("blame")
        return cls(
            message=text_of(data.get("message")) or "it could not be started",
            ranks=ranks,
            blame=Blame(blame) if ranks and blame in list(Blame) else Blame.NODE if ranks else Blame.NOBODY,
            crowded=data.get("crowded") is True,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What a run's Service records; it outlives the run's pods."""

    #: Node names in rank order.
    nodes: tuple[str, ...]
    created_at: datetime | None
    #: All of its pods were created.
    launched: bool
    killed: bool
    start_error: StartError | None
    #: The Service itself is on its way out.
    deleting: bool
    origin: Origin | None = None
    user: str | None = None

    @classmethod
    def read(cls, service: Thing) -> Self:
        """Read a Service. Malformed annotations count as missing."""
        metadata = service["metadata"]
        annotations = metadata.get("annotations") or {}
        nodes = _json(annotations.get(NODES))
        made = metadata.get("creationTimestamp")
        return cls(
            nodes=tuple(nodes) if _are_names(nodes) else (),
            created_at=datetime.fromisoformat(made) if made else None,
            launched=LAUNCHED in annotations,
            killed=KILLED in annotations,
            start_error=StartError.from_annotations(annotations),
            deleting="deletionTimestamp" in metadata,
            origin=origin_of(service),
            user=user_of(service),
        )


def _are_names(nodes: Any) -> bool:
    return isinstance(nodes, list) and all(isinstance(node, str) for node in nodes)


def _json(text: str | None) -> Any:
    try:
        return json.loads(text or "null")
    except (ValueError, RecursionError):
        return None


@dataclass(slots=True, kw_only=True)
class RunObjects:
    """A run as the cluster shows it: its record (None: the Service was removed), and its pods by rank."""

    run_id: RunId
    record: Record | None = None
    pods: dict[int, Thing] = field(default_factory=dict)
    #: Pods that the API server no longer has, as they were last seen.
    removed: dict[int, Thing] = field(default_factory=dict)

    @property
    def origin(self) -> Origin | None:
        """The origin of the run, as far as its objects carry one."""
        return self.record.origin if self.record is not None else next(map(origin_of, self._all_pods()), None)

    @property
    def user(self) -> str | None:
        """The user of the run, as far as its objects carry one."""
        return self.record.user if self.record is not None else next(map(user_of, self._all_pods()), None)

    @property
    def nodes(self) -> tuple[str, ...]:
        """Node names in rank order, as far as they are known; `?` for a pod that is on no node yet."""
        if self.record is not None and self.record.nodes:
            return self.record.nodes
        specs = [(self.pods.get(rank) or {}).get("spec") or {} for rank in range(self.ranks)]
        return tuple(str(spec.get("nodeName") or "?") for spec in specs)

    def _all_pods(self) -> Iterable[Thing]:
        return (*self.pods.values(), *self.removed.values())

    @property
    def ranks(self) -> int:
        """How many ranks the run has, as far as is known."""
        if self.record is not None and self.record.nodes:
            return len(self.record.nodes)
        return max(self.pods, default=-1) + 1

    def has_rank(self, rank: int) -> bool | None:
        """Whether the run has that rank. None: what is left of the run does not say.

        That is so when its Service was removed and the rank's pod with it, or when the Service was made by an order to
        end a run that was not there any more.
        """
        if self.record is not None and self.record.nodes:
            return 0 <= rank < len(self.record.nodes)
        return True if rank in self.pods else None


def runs_seen(services: Iterable[Thing], pods: Iterable[Thing], removed: Iterable[Thing]) -> dict[RunId, RunObjects]:
    """Return runs by id from their Services and pods. A removed pod counts only while more of its run exists."""
    runs: dict[RunId, RunObjects] = {}
    for service in services:
        run_id = run_of(service)
        if run_id is not None:
            runs[run_id] = RunObjects(run_id=run_id, record=Record.read(service))
    for pod in pods:
        run_id, rank = run_of(pod), rank_of(pod)
        if run_id is not None and rank is not None:
            runs.setdefault(run_id, RunObjects(run_id=run_id)).pods[rank] = pod
    for pod in removed:
        run_id, rank = run_of(pod), rank_of(pod)
        if run_id in runs and rank is not None and rank not in runs[run_id].pods:
            runs[run_id].removed[rank] = pod
    return runs
