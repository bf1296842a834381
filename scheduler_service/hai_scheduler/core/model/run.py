"""A run and its ranks: one uninterrupted execution of a task on a fixed set of nodes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from hai_scheduler.core.model.ids import Origin, RunId, TaskId
from hai_scheduler.core.model.leaving import Left, Source
from hai_scheduler.core.model.pins import Pin
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.usage_summary import UsageSummary


class RankState(StrEnum):
    """The state of one rank, as far as it is known."""

    #: The rank was ordered; the cluster does not show it yet.
    PENDING = "pending"
    RUNNING = "running"
    EXITED = "exited"
    #: Gone without an exit status: its node or its supervisor died.
    LOST = "lost"

    @property
    def gone(self) -> bool:
        """Whether nothing of the rank is left on its node (B4)."""
        return self in (RankState.EXITED, RankState.LOST)


class Blame(StrEnum):
    """Whether a node is to blame for a rank that could not be started on it (H3)."""

    #: The node may well be the cause: the task tries other nodes, and the failure counts as a strike.
    NODE = "node"
    #: The cause is not known: the task tries other nodes, and the failure counts as no strike.
    UNKNOWN = "unknown"
    #: The node is not the cause: what was missing would be missing on any node.
    NOBODY = "nobody"


class Fallback(StrEnum):
    """Why the RDMA of a rank falls back to TCP, as its supervisor has found out."""

    #: The rank may lock less memory than its fabric needs.
    MEMLOCK = "memlock"
    #: Its container has no RDMA device.
    NO_DEVICE = "no_device"
    #: No port of the devices is active.
    NO_PORT = "no_port"
    #: A variable turns RDMA off, or names no device that is there.
    VARIABLE = "variable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A saved state, as far as the platform knows: when, at which step and where; never its content."""

    at: datetime
    step: int | None = None
    path: str | None = None
    source: Source = Source.TOLD


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """The notice to every rank of a run that it must leave."""

    #: Why the run must leave.
    reason: Reason
    at: datetime
    #: When ranks that have not left yet are ended.
    deadline: datetime
    #: The latest deadline that a job which is saving can ask for.
    limit: datetime
    #: The task that the nodes are freed for (B3), if any.
    beneficiary: TaskId | None = None
    #: A number that grows with each change, so that a supervisor sees an extension.
    revision: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """One process group of a run, on one node; rank 0 is the master."""

    rank: int
    node: str
    #: Indices of the GPUs that the rank holds on its node; empty is the whole node (U2).
    gpus: tuple[int, ...] = ()
    state: RankState = RankState.PENDING
    exit_code: int | None = None
    #: The signal that killed the command; exit_code is 128 more then. None: no signal did, or it is not known.
    signal: int | None = None
    #: When the rank ended, by the clock of its node; None: not yet, or not known.
    ended_at: datetime | None = None
    #: When the rank's supervisor received the notice.
    notified_at: datetime | None = None
    #: Whether the command had been told to leave before it ended: by a signal of the platform or, under `auto`, by the
    #: notice file that it reads; None: not known.
    signalled: bool | None = None
    #: Whether every process that was sent a signal caught it; None: no process was sent one, or it is not known.
    caught: bool | None = None
    #: Whether the rank said that it has saved and may leave.
    done: bool = False
    #: Whether a place for its checkpoints was named: what is not seen there was not saved. None: not known.
    watched: bool | None = None
    #: What the cluster says of a rank with a problem: why it is not up yet, could not be started, or how it ended.
    message: str | None = None
    #: Set for a rank that could not be started: whether its node is to blame.
    unstarted: Blame | None = None
    #: For such a rank: its node had no room for it beside pods from outside of HAI (F5).
    crowded: bool = False
    #: For a lost rank: its supervisor was killed while its node was healthy, so that the task itself is to blame.
    supervisor_killed: bool = False
    #: Since when all its GPUs are idle (I1); None: they are not for long enough, or it is not known.
    idle_gpus_since: datetime | None = None
    #: Why its RDMA falls back to TCP; None: it does not, it has no fabric, or it is not known.
    fallback: Fallback | None = None
    #: What the rank used, for a rank that is gone in a run that has not ended; then it is in the run's.
    summary: UsageSummary | None = None

    @property
    def failed_with(self) -> str:
        """How its command failed: `status 137: out of memory: ...`, the cluster's words last if it has any."""
        return f"status {self.exit_code}" + (f": {self.message}" if self.message else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One uninterrupted execution of a task on a fixed set of nodes. It is also the task's turn."""

    id: RunId
    number: int
    #: In rank order.
    ranks: tuple[Rank, ...]
    #: The effective priority, fixed for the turn (Q4).
    priority: Priority
    started_at: datetime
    #: When every rank was up.
    running_at: datetime | None = None
    ended_at: datetime | None = None
    notice: Notice | None = None
    #: When the run was ordered to end at once. Repeating the order is harmless.
    killed_at: datetime | None = None
    #: Whether the job said that all its ranks have saved and may leave.
    done: bool = False
    checkpoint: Checkpoint | None = None
    #: Why the run ended; set with ended_at.
    reason: Reason | None = None
    #: For a run that was told to leave: how it left; set with ended_at.
    left: Left | None = None
    #: Lost work: running time since the last checkpoint, times nodes; set when a run that will be resumed has ended.
    #: None then: nothing shows how much, as no checkpoint was seen and no place for them was named.
    lost: timedelta | None = None
    #: Numbers of the ranks whose own failure broke the gang, without ranks that were ended because of it (H2).
    failed_ranks: tuple[int, ...] = ()
    #: The database that decided the run; None for a run of a version that did not record this.
    origin: Origin | None = None
    #: The environment of haienv that the run was started with; None: none, or it has not come so far.
    haienv: Pin | None = None
    #: What its ranks used; set with ended_at. None: nothing was measured.
    summary: UsageSummary | None = None

    @property
    def live(self) -> bool:
        """Whether the run has not ended: its ranks may still be on their nodes."""
        return self.ended_at is None

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of the run's nodes in rank order."""
        return tuple([rank.node for rank in self.ranks])

    @property
    def idle_gpus_since(self) -> datetime | None:
        """Since when the GPUs of a rank are idle (I1), of the rank that is idle for longest; None: no rank's are."""
        if not self.live:
            return None
        return min((rank.idle_gpus_since for rank in self.ranks if rank.idle_gpus_since is not None), default=None)

    @property
    def turn_start(self) -> datetime:
        """When the turn began: when every rank was up or, until then, when it was ordered."""
        return self.running_at or self.started_at

    @property
    def failures(self) -> tuple[Rank, ...]:
        """The ranks of `failed_ranks`, in rank order."""
        return tuple([rank for rank in self.ranks if rank.rank in self.failed_ranks])

    @property
    def first_failure(self) -> Rank | None:
        """The rank of `failed_ranks` that ended first; the lowest rank where that is not known.

        The answer may be wrong if clocks of nodes differ by more than the time between two ends.
        """
        known = [rank for rank in self.failures if rank.ended_at is not None]
        return min(known or self.failures, key=lambda rank: (rank.ended_at or self.started_at, rank.rank), default=None)

    @property
    def failure_codes(self) -> frozenset[int]:
        """The exit statuses that broke the gang, without those of ranks that were ended because of it (H2)."""
        return frozenset(rank.exit_code for rank in self.failures if rank.exit_code)
