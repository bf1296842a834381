"""The words of the platform as values (docs/architecture.md, "Words").

Everything here is frozen. Times are aware UTC datetimes, lengths of time are timedeltas.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import IntEnum, StrEnum
from typing import NewType

from hai_scheduler.core.model.launching import RanksPerNode
from hai_scheduler.core.model.leaving import Left, Profile, Signal, Source
from hai_scheduler.core.model.reasons import Reason

TaskId = NewType("TaskId", int)
#: `"<task id>.<run number>"`, for example `"41.2"`. Everything a cluster does is idempotent by it.
RunId = NewType("RunId", str)


@dataclass(frozen=True, slots=True)
class Origin:
    """Which database has decided a run, and in which of its epochs.

    A database gets its name when it is made, and begins a new epoch when it finds that it is older than the runs on
    the cluster: it was restored. So a run's id and origin together are never given twice.
    """

    #: Lower-case letters and digits.
    database: str
    #: From 1.
    epoch: int

    def __str__(self) -> str:
        return f"{self.database}-{self.epoch}"

    @classmethod
    def parse(cls, text: str | None) -> Origin | None:
        """Read what `str` gave; None for anything else."""
        database, dash, epoch = (text or "").partition("-")
        known = database.isascii() and database.isalnum() and dash and epoch.isascii() and epoch.isdigit()
        return cls(database, int(epoch)) if known and len(epoch) <= 18 else None


#: How many of its rotations a task remembers (P7).
KEPT_ROTATIONS = 16


class Priority(IntEnum):
    """Priority levels; higher goes first (O1). AUTO (Q4) is written as None where a task asks for a level."""

    LOW = 0
    BELOW_NORMAL = 5
    NORMAL = 10
    ABOVE_NORMAL = 20
    HIGH = 30
    VERY_HIGH = 40
    EXTREME_HIGH = 50


class TaskState(StrEnum):
    """Public states of a task."""

    #: Waits and has never run.
    QUEUED = "queued"
    #: Has its nodes; ranks are being started.
    STARTING = "starting"
    #: Every rank runs.
    RUNNING = "running"
    #: Was told to leave and will be resumed.
    SUSPENDING = "suspending"
    #: Has run and waits for its next turn or, held, for its owner.
    SUSPENDED = "suspended"
    #: Was told to leave for good.
    STOPPING = "stopping"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"

    @property
    def waiting(self) -> bool:
        """Whether the task holds no node and may get a turn."""
        return self in (TaskState.QUEUED, TaskState.SUSPENDED)

    @property
    def ended(self) -> bool:
        """Whether the task is over for good."""
        return self in (TaskState.SUCCEEDED, TaskState.FAILED, TaskState.STOPPED)

    @property
    def live(self) -> bool:
        """Whether the task holds nodes."""
        return not self.waiting and not self.ended


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


class NodeMark(StrEnum):
    """What an admin, or the platform, has marked a node with (F3)."""

    NONE = "none"
    #: No new runs.
    CORDONED = "cordoned"
    #: No new runs, and the runs on it are asked to leave.
    DRAINING = "draining"
    #: No new runs: too many have failed on it for reasons that were not their users' (H3).
    QUARANTINED = "quarantined"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One machine, or one slot of a machine. `gpus` is the number of its GPUs, real or simulated."""

    name: str
    group: str = "training"
    leaf: str = ""
    zone: str = ""
    gpus: int = 0
    #: Whether the cluster can reach it now.
    ready: bool = True
    #: Whether the cluster itself offers it to nobody new: it was cordoned there, or its labels contradict each other.
    closed: bool = False
    #: Why it is not ready, or closed, in the cluster's words.
    message: str = ""
    mark: NodeMark = NodeMark.NONE
    #: A run on it that the database does not know (decision 0016): nobody new gets the node before that has ended.
    orphan: RunId | None = None

    @property
    def schedulable(self) -> bool:
        """Whether new runs may be placed here (F3)."""
        return self.ready and not self.closed and self.mark is NodeMark.NONE and self.orphan is None


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """What becomes of a task whose command fails (H2)."""

    #: How many times it is started again.
    count: int
    #: How long it waits before the first retry; twice as long before each further one, a day at most.
    backoff: timedelta = timedelta(0)
    #: Exit statuses that are worth a retry; empty is any but 0.
    exit_codes: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What the scheduler knows of a task. What it executes is its `TaskSpec`, which no decision reads."""

    id: TaskId
    name: str
    user: str
    group: str
    #: The level asked for; None is AUTO (Q4).
    priority: Priority | None
    #: On how many nodes (U1).
    nodes: int
    #: The first submission: its place among the tasks of its user, over all interruptions (O3).
    submitted_at: datetime
    #: Since when it has been waiting for a turn; while it runs, since when it had waited for this one (O2).
    waiting_since: datetime
    #: How many GPUs of each of its nodes; None is whole nodes (U2).
    gpus: int | None = None
    profile: Profile = Profile.AUTO
    #: The signal of its user's choice; None: what the profile says.
    signal: Signal | None = None
    #: How long it has to save after a notice.
    grace: timedelta = timedelta(seconds=120)
    #: Longest running time over all its runs; None is no limit.
    time_limit: timedelta | None = None
    state: TaskState = TaskState.QUEUED
    #: Waits for its owner, not for a turn.
    held: bool = False
    #: The user's own order among his tasks; smaller first, None last.
    custom_rank: float | None = None
    #: The latest run, live or ended.
    run: Run | None = None
    #: Running time over all ended runs.
    served: timedelta = timedelta(0)
    #: How often it was suspended.
    suspensions: int = 0
    #: Runs in a row that were told to leave, and of which nothing shows that they ever saved (P8).
    unsaved: int = 0
    #: Nodes it was unlucky on (F3).
    avoid: frozenset[str] = frozenset()
    #: Nodes that others were told to leave for it (B3), until it starts.
    promise: frozenset[str] = frozenset()
    #: Starts in a row that came to nothing: they failed for reasons that are not the user's, or the supervisor of a
    #: rank was killed soon after. It stands until a run has ended otherwise.
    failed_starts: int = 0
    #: What becomes of it when its command fails; None lets it fail (H2).
    retry: Retry | None = None
    #: How often it has been started again after its command had failed (H2).
    retries: int = 0
    #: It is not started before this, after a failure that is retried (H2).
    not_before: datetime | None = None
    #: When it was last told to leave for an equal, oldest first, at most `KEPT_ROTATIONS` (P7).
    rotations: tuple[datetime, ...] = ()
    #: Measured at its latest run that was told to leave: from the notice until all of it was gone (P6).
    leaving_took: timedelta | None = None
    #: Measured at its latest run: from the order until every rank was up (P6).
    starting_took: timedelta | None = None
    checkpoint: Checkpoint | None = None
    #: A short text that the job keeps over its runs (`HAI_STATE`).
    job_state: str | None = None
    #: Why it ended or, while it waits, why its last run did.
    reason: Reason | None = None
    ended_at: datetime | None = None
    #: Grows with each save; a save with an older one is refused.
    version: int = 0

    @property
    def live_run(self) -> Run | None:
        """The run that holds nodes now."""
        return self.run if self.run is not None and self.run.live else None

    @property
    def switch_cost(self) -> timedelta:
        """What a suspension and the resume after it have cost this task, as far as it was measured (P6)."""
        if self.leaving_took is None:
            return self.starting_took or timedelta(0)
        return self.leaving_took + (self.starting_took or timedelta(0))

    @property
    def left_for(self) -> TaskId | None:
        """The task that its latest run was told to leave for (P5)."""
        return self.run.notice.beneficiary if self.run and self.run.notice else None

    def run_id(self, number: int) -> RunId:
        """The id of this task's run with that number."""
        return RunId(f"{self.id}.{number}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """What a task executes. The core never looks inside."""

    command: tuple[str, ...]
    cwd: str
    env: dict[str, str] = field(default_factory=dict)
    #: Where the job is told to keep its checkpoints; None lets the platform choose.
    checkpoint_dir: str | None = None
    #: Paths, absolute or below cwd, whose changes count as checkpoints too.
    watch: tuple[str, ...] = ()
    #: The environment it runs in, by name: image, python, variables; None is the platform's default.
    environment: str | None = None
    tags: tuple[str, ...] = ()
    ranks_per_node: RanksPerNode = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """One row of quota (Q1): how many nodes a subject may hold at once at a level; limit None is no limit.

    `subject` is `user:NAME`, `group:NAME` (each member) or `public` (everybody); `total:NAME` caps all members of
    the user group together, beside what counts for each of them (Q2).
    """

    subject: str
    group: str
    priority: Priority
    limit: int | None
    #: Up to what users whom the row counts for may raise their own row themselves; None: not at all (Q3).
    ceiling: int | None = None
    #: From then on the row is as if it were not there (Q3).
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What a user has held of a node group in runs that have ended, decayed to a moment (O3)."""

    user: str
    group: str
    node_seconds: float
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Strike:
    """A run failed on a node for a reason that was not its user's (H3)."""

    node: str
    task_id: TaskId
    at: datetime
    #: Whose task it was; None once the task has been deleted.
    user: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RankObservation:
    """What a cluster shows of one rank."""

    rank: int
    state: RankState
    exit_code: int | None = None
    #: As in `Rank`.
    signal: int | None = None
    #: As in `Rank`.
    ended_at: datetime | None = None
    notified_at: datetime | None = None
    #: Whether the command was sent a signal of the platform before it ended; None where nobody can say.
    signalled: bool | None = None
    #: As in `Rank`.
    caught: bool | None = None
    done: bool = False
    #: The rank's `done` speaks for the whole run (`scontrol requeue`).
    done_all: bool = False
    checkpoint: Checkpoint | None = None
    job_state: str | None = None
    #: Of a lost rank: its supervisor was killed while its node, other users' ranks there and the service went on.
    supervisor_killed: bool = False
    #: Why the rank could not be started; such an end is not the user's.
    start_error: str | None = None
    #: What its node had to do with that.
    blame: Blame = Blame.NODE
    #: The cluster itself ends the rank then, or has ended it (a drain, an eviction): the whole run must leave (H1).
    leaving_by: datetime | None = None
    #: What the cluster says about its end: out of memory, evicted, deleted by hand.
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What a cluster shows of one run. Ranks that it has never heard of are left out."""

    run_id: RunId
    ranks: tuple[RankObservation, ...]
    #: All of it has ended, and the cluster keeps what shows this until it is told that the end was recorded.
    unsettled: bool = False
    #: The cluster has the order to end the run: a rank that it does not show now will never be started.
    killed: bool = False
    #: As its launch said it; None where nothing is written down.
    origin: Origin | None = None
    #: Node names in rank order, as far as the cluster knows them.
    nodes: tuple[str, ...] = ()
    #: Whose run it is, as far as the cluster knows.
    user: str | None = None

    @property
    def gone(self) -> bool:
        """Whether nothing is left of any rank that is shown."""
        return all(rank.state.gone for rank in self.ranks)
