"""Models of tasks: what clients submit and change, and what the service shows."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from hai_scheduler.api.wire import shapes
from hai_scheduler.api.wire.base import (
    MAX_NUMBER,
    Input,
    Length,
    Output,
    PriorityChoice,
    PriorityName,
    ProfileName,
    TaskStateName,
)
from hai_scheduler.api.wire.cluster import MeanUseOut, NodeOut
from hai_scheduler.api.wire.logs import LogHits
from hai_scheduler.api.wire.overview import ShortWaitOut
from hai_scheduler.api.wire.problem import Problem
from hai_scheduler.api.wire.runs import CheckpointOut, FailureOut, HaienvOut, RunOut
from hai_scheduler.core.model.limits import MAX_RANKS_PER_NODE
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.service.shared.sent_as import BY_NAME

#: A number of processes on each node, or one for each GPU.
RanksPerNodeChoice = Annotated[int, Field(strict=True, ge=1, le=MAX_RANKS_PER_NODE)] | Literal["gpu"]


class PriorityChange(Input):
    """Change the priority of a task."""

    priority: Annotated[Priority | None, BY_NAME]


class OrderChange(Input):
    """Move a waiting task directly before, or after, another waiting one of the same user and priority."""

    model_config = ConfigDict(json_schema_extra=shapes.one_of("before", "after"))

    before: Annotated[int, Field(ge=1, le=MAX_NUMBER)] | None = None
    after: Annotated[int, Field(ge=1, le=MAX_NUMBER)] | None = None


class HolderOut(Output):
    """A task that holds nodes which another one needs."""

    task_id: int
    name: str
    user: str
    priority: PriorityName
    nodes: int
    #: GPUs on each of the nodes; null: whole nodes.
    gpus: int | None = None


class VerdictOut(Output):
    """Why a task waits."""

    kind: Literal[
        "QUOTA", "CAPACITY", "TURN", "RESERVED", "DRAINING", "TOPOLOGY", "RETRY", "HELD", "PAUSED", "NEVER", "NEXT"
    ]
    sentence: str
    #: Place among the waiting tasks of its group, from 1; null for a held task.
    position: int | None
    #: The earliest time at which the task can start; null: not known.
    earliest_start: datetime | None
    #: Data that depend on the kind: needs, free, limit, used, subject, until, deadline, ...
    data: dict[str, Any]
    #: The tasks that hold the nodes it needs, those with most nodes first. In a list of tasks only the first ten;
    #: `GET /tasks/{task}` and `GET /tasks/{task}/explain` have all.
    holders: list[HolderOut] = []
    #: How many tasks hold the nodes it needs, those that `holders` leaves out included.
    holder_count: int = 0


class TaskProgressOut(Output):
    """How far a job has come, as it reports it itself."""

    #: Steps that are done, over all runs.
    step: int
    #: After how many steps it is done; null: it did not say.
    total: int | None
    #: When it has said so.
    at: datetime
    #: How long it still has to run at this pace, in seconds, without the time that it waits; null: not known.
    left_s: float | None


class TaskSummary(Output):
    """A task in a list."""

    id: int
    name: str
    user: str
    state: TaskStateName
    held: bool
    #: The priority that was asked for.
    priority: PriorityChoice
    #: The priority that counts now: that of the run, or of the verdict while the task waits.
    effective_priority: PriorityName | None
    group: str
    #: Number of nodes of the task.
    nodes: int
    #: GPUs on each of its nodes; null: whole nodes.
    gpus: int | None = None
    #: The nodes on which it runs now, in rank order.
    node_names: list[str]
    submitted_at: datetime
    #: When its latest run was up.
    running_since: datetime | None
    #: Since when GPUs of its run are idle (I1), of the rank that is idle for longest; null: none are.
    idle_gpus_since: datetime | None = None
    ended_at: datetime | None
    #: Running time of all runs so far, in seconds.
    served_s: float
    run_count: int
    suspensions: int
    #: Number of consecutive interruptions without evidence of a checkpoint (P8).
    unsaved: int = 0
    checkpoint: CheckpointOut | None
    #: Why the task, or its last run, ended; a value of `Reason`.
    reason: str | None
    #: What the task does now or why it ended, in one sentence.
    message: str
    verdict: VerdictOut | None
    #: Deadline of the current notice; null: there is none.
    deadline: datetime | None
    tags: list[str] = []
    #: What the job has reported last; null: nothing so far.
    progress: TaskProgressOut | None = None
    #: Why it waits, in a few words; null: it does not wait.
    short: ShortWaitOut | None = None
    #: Whether the caller has starred it; null: not known here.
    starred: bool | None = None
    #: In a list with `use`: what its run uses now or, of a run that has ended, used; null: nothing was measured.
    use: MeanUseOut | None = None


class TagsPut(Input):
    """The tags of a task, in place of those that it has."""

    tags: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=128, json_schema_extra=shapes.SHOWN)]],
        Field(max_length=50),
    ]


class TaskActions(Input):
    """One action on many tasks."""

    action: Literal["stop", "suspend", "resume", "hold"]
    #: Their ids or names, as in `GET /tasks/{task}`.
    tasks: Annotated[list[Annotated[str, Field(min_length=1, max_length=400)]], Field(min_length=1, max_length=200)]


class TaskActionResult(Output):
    """What became of one of the tasks."""

    #: The task as the request has named it.
    task: str
    #: Its id and its state afterwards; null: it was refused.
    task_id: int | None = None
    state: TaskStateName | None = None
    held: bool | None = None
    #: Why it was refused, as a code and a sentence; null: it was done.
    code: str | None = None
    detail: str | None = None


class TaskActionResults(Output):
    """What became of each task, in the order of the request."""

    items: list[TaskActionResult]
    done: int
    refused: int


class CodeSnapshotOut(Output):
    """The snapshot of a task's code."""

    #: The SHA-256 of its manifest.
    digest: str
    #: How many files and links it has, and the bytes of all files.
    files: int
    size: int
    #: The commit of git that was checked out, as the client has said; null: there was none.
    commit: str | None
    #: Whether a file was not as in that commit, as the client has said.
    dirty: bool


class TaskDetail(TaskSummary):
    """A task with its runs and what it executes."""

    command: list[str]
    cwd: str
    env: dict[str, str]
    #: The secrets that each run gets, as they were given; their values are nowhere to be read.
    secrets: list[str] = []
    profile: ProfileName
    signal: str | None = None
    watch: list[str] = []
    #: Advice for the owner, as sentences.
    hint: str | None = None
    grace_s: Length
    time_limit_s: Length | None
    checkpoint_dir: str
    job_state: str | None
    #: How often the task may be started again when its command fails, and how often it was.
    retries: int = 0
    retries_used: int = 0
    retry_backoff_s: float = 0.0
    retry_exit_codes: list[int] = []
    #: While the task waits for a retry: the earliest time of that start.
    retry_at: datetime | None = None
    #: Name of the image that the task runs in; null: the platform's own.
    environment: str | None = None
    #: That image with its digest, to which the task is pinned; null: what its name means at each start.
    image: str | None = None
    #: The generation of an environment of haienv that the task is pinned to; null: it uses none.
    haienv: HaienvOut | None = None
    #: The snapshot of the code in which all runs start; null: they start in `cwd` as it is then.
    snapshot: CodeSnapshotOut | None = None
    #: How often the command runs on each node; null: once, without a launcher.
    ranks_per_node: RanksPerNodeChoice | None = None
    #: In the answer to a submission: warnings on what will probably not work as the user expects.
    warnings: list[str] = []
    #: How the latest ended run has failed; null: it has not failed.
    failure: FailureOut | None = None
    runs: list[RunOut]


class TaskPage(Output):
    """A page of tasks, newest first or in the order that was asked for."""

    items: list[TaskSummary]
    next_cursor: str | None
    #: With `total`: how many tasks match, on all pages.
    total: int | None = None
    #: On the first page: what the caller should know, as sentences; now, of budgets that are almost used up.
    notes: list[str] = []


Problem.model_rebuild()
NodeOut.model_rebuild()
LogHits.model_rebuild()
