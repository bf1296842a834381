"""A task: what a user has submitted, and how far it has come."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.launching import RanksPerNode
from hai_scheduler.core.model.leaving import Profile, Signal
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Checkpoint, Run

#: How many of its rotations a task remembers (P7).
KEPT_ROTATIONS = 16


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
