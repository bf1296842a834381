"""A task: what a user has submitted, and how far it has come."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal

from hai_scheduler.core.model.code import CodeSnapshot
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.leaving import Profile, Signal
from hai_scheduler.core.model.pins import Pin
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Checkpoint, Run
from hai_scheduler.core.model.secret_refs import SecretRef

#: How many of its rotations a task remembers (P7).
KEPT_ROTATIONS = 16


class TaskState(StrEnum):
    """Public states of a task."""

    #: The task waits and has never run.
    QUEUED = "queued"
    #: The task has its nodes; its ranks are being started.
    STARTING = "starting"
    #: Every rank has started.
    RUNNING = "running"
    #: The task was told to leave and will be resumed.
    SUSPENDING = "suspending"
    #: The task has run and waits for its next turn or, if it is held, for its owner.
    SUSPENDED = "suspended"
    #: The task was told to leave and will not be resumed.
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
        """Whether the task has ended for good."""
        return self in (TaskState.SUCCEEDED, TaskState.FAILED, TaskState.STOPPED)

    @property
    def live(self) -> bool:
        """Whether the task holds nodes."""
        return not self.waiting and not self.ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How a task is started again after its command has failed (H2)."""

    #: How many times the task is started again.
    count: int
    #: How long the task waits before the first retry; twice as long before each further one, at most a day.
    backoff: timedelta = timedelta(0)
    #: Exit statuses that are worth a retry; empty is any but 0.
    exit_codes: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What the scheduler knows of a task. What a task executes is its `TaskSpec`, which no decision reads."""

    id: TaskId
    name: str
    user: str
    group: str
    #: The priority asked for; None is AUTO (Q4).
    priority: Priority | None
    #: How many nodes the task takes (U1).
    nodes: int
    #: When the task was first submitted. This orders the tasks of a user, and no interruption changes it (O3).
    submitted_at: datetime
    #: Since when the task has been waiting for a turn; while it runs, since when it had waited for this turn (O2).
    waiting_since: datetime
    #: How many GPUs the task takes of each of its nodes; None is whole nodes (U2).
    gpus: int | None = None
    profile: Profile = Profile.AUTO
    #: The signal that the user chose; None: the one of the profile.
    signal: Signal | None = None
    #: How long the task has to save after a notice.
    grace: timedelta = timedelta(seconds=120)
    #: Longest running time over all its runs; None is no limit.
    time_limit: timedelta | None = None
    state: TaskState = TaskState.QUEUED
    #: Whether the task waits for its owner, not for a turn.
    held: bool = False
    #: The order that users give to their own tasks; smaller first, None last.
    custom_rank: float | None = None
    #: The latest run, live or ended.
    run: Run | None = None
    #: Running time over all ended runs.
    served: timedelta = timedelta(0)
    #: How often the task was suspended.
    suspensions: int = 0
    #: How many runs in a row were told to leave without evidence of any checkpoint (P8).
    unsaved: int = 0
    #: Nodes that the task avoids because its ranks were lost or could not be started there (F3).
    avoid: frozenset[str] = frozenset()
    #: Nodes promised to the task until it starts: other tasks were told to leave them (B3).
    promise: frozenset[str] = frozenset()
    #: How many starts in a row came to nothing: they failed for reasons that are not the user's, or the supervisor of
    #: a rank was killed soon after. Reset when a run ends otherwise.
    failed_starts: int = 0
    #: How the task is started again when its command fails; None: it is not, and fails (H2).
    retry: Retry | None = None
    #: How often the task has been started again after its command had failed (H2).
    retries: int = 0
    #: The task is not started before this time, after a failure that is retried (H2).
    not_before: datetime | None = None
    #: When the task was told to leave for an equal, oldest first, the latest `KEPT_ROTATIONS` of them (P7).
    rotations: tuple[datetime, ...] = ()
    #: Time from the notice until every rank had ended, of the latest run that was told to leave (P6).
    leaving_took: timedelta | None = None
    #: Time from the order until every rank was up, of the latest run (P6).
    starting_took: timedelta | None = None
    checkpoint: Checkpoint | None = None
    #: A short text that the job keeps over its runs (`HAI_STATE`).
    job_state: str | None = None
    #: Why the task ended or, while it waits, why its last run ended.
    reason: Reason | None = None
    ended_at: datetime | None = None
    #: A number that grows with each write of the task; a write with an older version is refused.
    version: int = 0

    @property
    def live_run(self) -> Run | None:
        """The run that holds nodes now."""
        return self.run if self.run is not None and self.run.live else None

    @property
    def switch_cost(self) -> timedelta:
        """Time that suspending and resuming this task took when it was last measured (P6)."""
        if self.leaving_took is None:
            return self.starting_took or timedelta(0)
        return self.leaving_took + (self.starting_took or timedelta(0))

    @property
    def left_for(self) -> TaskId | None:
        """The beneficiary of the notice to the latest run: the task that the run was told to leave for (P5)."""
        return self.run.notice.beneficiary if self.run and self.run.notice else None

    def run_id(self, number: int) -> RunId:
        """Return the id of this task's run with that number."""
        return RunId(f"{self.id}.{number}")


#: How many processes of the command run on each node: a number; "gpu" is one for each GPU of the node; None is one,
#: without a launcher, so that each node is one rank.
RanksPerNode = int | Literal["gpu"] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """What a task executes. No decision depends on it."""

    command: tuple[str, ...]
    cwd: str
    env: dict[str, str] = field(default_factory=dict)
    #: The secrets of its user that each run gets, as they are at its start.
    secrets: tuple[SecretRef, ...] = ()
    #: Where the job is told to keep its checkpoints; None lets the platform choose.
    checkpoint_dir: str | None = None
    #: Paths, absolute or below cwd, whose changes count as checkpoints too.
    watch: tuple[str, ...] = ()
    #: Name of the image that the task runs in, with a Python and variables; None is the platform's default.
    environment: str | None = None
    #: The image of that name as it was at submission, with its digest: `registry.example/torch:2@sha256:...`. None:
    #: each start takes what the name means then.
    image: str | None = None
    #: The environment of haienv whose Python the task runs with, pinned at submission; None: none of haienv's.
    haienv: Pin | None = None
    #: The snapshot of the code in which all runs start; None: they start in `cwd` as it is then.
    snapshot: CodeSnapshot | None = None
    tags: tuple[str, ...] = ()
    ranks_per_node: RanksPerNode = None
    #: The number of its user when it was submitted: no run has another. None: the platform's one account.
    uid: int | None = None
