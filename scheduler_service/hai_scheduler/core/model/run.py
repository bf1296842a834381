"""A run and its ranks: one uninterrupted execution of a task on a fixed set of nodes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from hai_scheduler.core.model.ids import Origin, RunId, TaskId
from hai_scheduler.core.model.leaving import Left, Source
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason


class RankState(StrEnum):
    """What is known of one rank."""

    #: Ordered, not seen yet.
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
    """What a node has to do with a rank that could not be started on it (H3)."""

    #: It may well be the cause: other nodes are tried, and it is held against it.
    NODE = "node"
    #: Nobody knows: other nodes are tried, and nothing is held against it.
    UNKNOWN = "unknown"
    #: Nothing: what was missing would be missing on any node.
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What the platform knows of a saved state: when, at which step and where; never its content."""

    at: datetime
    step: int | None = None
    path: str | None = None
    source: Source = Source.TOLD


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """The word to every rank of a run that it must leave."""

    #: Why.
    reason: Reason
    at: datetime
    #: Ranks that are left now are ended.
    deadline: datetime
    #: The latest deadline that a job which is saving can ask for.
    limit: datetime
    #: The task that the nodes are freed for (B3), if any.
    beneficiary: TaskId | None = None
    #: Grows with each change, so that a supervisor sees an extension.
    revision: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """One process group of a run, on one node; rank 0 is the master."""

    rank: int
    node: str
    #: Indices of the GPUs that it holds there; empty is the whole node (U2).
    gpus: tuple[int, ...] = ()
    state: RankState = RankState.PENDING
    exit_code: int | None = None
    #: The signal that its command itself died of; exit_code is 128 more then. None: of none, or not known.
    signal: int | None = None
    #: When it had ended, by the clock of its node; None: not yet, or not known.
    ended_at: datetime | None = None
    #: When the rank's supervisor received the notice.
    notified_at: datetime | None = None
    #: Whether its command had been told to leave before it ended: by a signal of the platform or, under `auto`, by the
    #: file that it reads; None: not known.
    signalled: bool | None = None
    #: Whether all of it that was sent a signal caught that; None: nothing was sent one, or it is not known.
    caught: bool | None = None
    #: Whether the rank said that it has saved and may go.
    done: bool = False
    #: What the cluster says of it now, out of the ordinary: why it is not up yet, could not be started, how it ended.
    message: str | None = None
    #: Set for a rank that could not be started: what its node had to do with it.
    unstarted: Blame | None = None
    #: For a lost rank: its supervisor was killed while its node was well, so that the task itself is to blame.
    supervisor_killed: bool = False


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
    #: Whether the job said that all of it has saved and may go.
    done: bool = False
    checkpoint: Checkpoint | None = None
    #: Why it ended; set with ended_at.
    reason: Reason | None = None
    #: For a run that was told to leave: how it did; set with ended_at.
    left: Left | None = None
    #: Running time since the last checkpoint, times nodes; set when a suspended run has ended.
    lost: timedelta | None = None
    #: Ranks whose own failure broke the gang, by number; those that were ended because of it are not among them (H2).
    failed_ranks: tuple[int, ...] = ()
    #: Who decided it; None for a run of a version that did not write it down.
    origin: Origin | None = None

    @property
    def live(self) -> bool:
        """Whether ranks of it may be left anywhere."""
        return self.ended_at is None

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of its nodes in rank order."""
        return tuple([rank.node for rank in self.ranks])

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
        """The rank of `failed_ranks` that ended first; the lowest one where that is not known.

        Clocks of nodes may disagree by more than what lies between two ends.
        """
        known = [rank for rank in self.failures if rank.ended_at is not None]
        return min(known or self.failures, key=lambda rank: (rank.ended_at or self.started_at, rank.rank), default=None)

    @property
    def failure_codes(self) -> frozenset[int]:
        """The exit statuses that broke the gang; what killed ranks ended with says nothing (H2)."""
        return frozenset(rank.exit_code for rank in self.failures if rank.exit_code)
