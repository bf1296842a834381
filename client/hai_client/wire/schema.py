"""What the service sends and takes, as frozen dataclasses.

Written by `make reference` from the models of the service: change those, not this. Times are aware
datetimes; lengths of time are seconds in fields that end in `_s`; states, priorities, kinds and reasons are the plain
words of the wire.
"""

from __future__ import annotations

from dataclasses import field
from datetime import datetime
from typing import Any

from hai_client.backports import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRequest:
    """A task to submit."""

    #: Letters, digits, `.`, `_` and `-`, beginning with a letter or digit; not a number.
    name: str
    #: The program and its arguments.
    command: tuple[str, ...]
    #: The folder to start in, absolute.
    cwd: str
    nodes: int = 1
    #: GPUs on each of its nodes, which it then shares with other such tasks; None: whole nodes.
    gpus: int | None = None
    #: A level, or AUTO: the highest one that still has quota.
    priority: str = "NORMAL"
    #: The node group.
    group: str = "training"
    #: Variables; names that the platform sets are refused.
    env: dict[str, str] = field(default_factory=dict)
    #: How it is told to leave; `auto` finds out by itself.
    profile: str = "auto"
    #: The signal to tell it with, and at will how many seconds before its deadline: `USR1@60`; None: the profile's.
    signal: str | None = None
    #: Seconds between the notice and the end; None: the group's default.
    grace_s: float | None = None
    #: Seconds of running after which it is ended; None: no limit.
    time_limit_s: float | None = None
    #: Absolute; None: a folder that the platform makes.
    checkpoint_dir: str | None = None
    #: Paths, absolute or below cwd, whose changes count as checkpoints, beside those of the folder for checkpoints.
    watch: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    #: Do not start it until it is resumed.
    hold: bool = False
    #: How often it is started again when its command fails.
    retries: int = 0
    #: Seconds before the first retry; twice as long before each further one, a day at most.
    retry_backoff_s: float = 0.0
    #: Exit statuses that are worth a retry; empty: any failure.
    retry_exit_codes: tuple[int, ...] = ()
    #: Name of the environment that it runs in (GET /environments); None: one's default, else the platform's own.
    environment: str | None = None
    #: How often the command runs on each node, with LOCAL_RANK and the like; `gpu`: once for each of its GPUs; None:
    #: once, and RANK counts nodes.
    ranks_per_node: int | str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A task that holds nodes which another one needs."""

    task_id: int
    name: str
    user: str
    priority: str
    nodes: int
    #: On each of the nodes; None: whole nodes.
    gpus: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Why a task waits."""

    kind: str
    sentence: str
    #: Place among the waiting tasks of its group, from 1; None for a held one.
    position: int | None = None
    #: When it can start at the earliest, if that can be said.
    earliest_start: datetime | None = None
    #: What the kind needs said: needs, free, limit, used, subject, until, deadline, ...
    data: dict[str, Any]
    holders: tuple[Holder, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSummary:
    """A task in a list."""

    id: int
    name: str
    user: str
    state: str
    held: bool
    #: What was asked for.
    priority: str
    #: What it counts as now: of the run, or of the verdict for AUTO.
    effective_priority: str | None = None
    group: str
    #: How many nodes it takes.
    nodes: int
    #: GPUs on each of them; None: whole nodes.
    gpus: int | None = None
    #: Where it runs now, in rank order.
    node_names: tuple[str, ...]
    submitted_at: datetime
    #: When its latest run was up.
    running_since: datetime | None = None
    ended_at: datetime | None = None
    #: Running time so far over all runs.
    served_s: float
    run_count: int
    suspensions: int
    #: Interruptions in a row of which nothing shows that the task has saved (P8).
    unsaved: int = 0
    checkpoint: Checkpoint | None = None
    #: Why it ended, or why its last run did; a word of `Reason`.
    reason: str | None = None
    #: One sentence on what it does now or why it ended.
    message: str
    verdict: Verdict | None = None
    #: Deadline of the notice that is out, if any.
    deadline: datetime | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(TaskSummary):
    """A task with its runs and what it executes."""

    command: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    profile: str
    signal: str | None = None
    watch: tuple[str, ...] = ()
    #: What its owner should know and can do, as sentences.
    hint: str | None = None
    grace_s: float
    time_limit_s: float | None = None
    checkpoint_dir: str
    job_state: str | None = None
    #: How often it may be started again when its command fails, and has been.
    retries: int = 0
    retries_used: int = 0
    retry_backoff_s: float = 0.0
    retry_exit_codes: tuple[int, ...] = ()
    #: While it waits for a retry: it is not started before.
    retry_at: datetime | None = None
    #: Name of the environment that it runs in; None: the platform's own.
    environment: str | None = None
    #: How often the command runs on each node; None: once, without a launcher.
    ranks_per_node: int | str | None = None
    #: In the answer to a submission: what will probably not go as its user thinks.
    warnings: tuple[str, ...] = ()
    #: Why its latest run that is over has failed; None: it has not.
    failure: Failure | None = None
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPage:
    """A page of tasks, newest first."""

    items: tuple[TaskSummary, ...]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What is known of a saved state."""

    at: datetime
    step: int | None = None
    path: str | None = None
    #: told: the job said so. seen: its files have changed.
    source: str = "told"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """The word to every rank that it must leave."""

    #: `suspend` or `stop`.
    kind: str
    reason: str
    #: A sentence.
    message: str
    beneficiary: int | None = None
    at: datetime
    deadline: datetime
    revision: int
    #: When every rank's supervisor sends the signals that come with it, at most 50 ms ahead; None: at once.
    signal_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """One rank of a run."""

    rank: int
    node: str
    #: Indices of the GPUs that it holds there; empty: the whole node.
    gpus: tuple[int, ...] = ()
    #: One of pending, running, exited, lost.
    state: str
    exit_code: int | None = None
    #: The signal that its command died of.
    signal: int | None = None
    notified_at: datetime | None = None
    #: Whether all that was sent a signal caught that; None: nothing was sent one, or it is not known.
    caught: bool | None = None
    done: bool
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a task."""

    id: str
    number: int
    #: One of starting, running, leaving, ended.
    state: str
    priority: str
    nodes: tuple[str, ...]
    ranks: tuple[Rank, ...]
    started_at: datetime
    running_at: datetime | None = None
    ended_at: datetime | None = None
    notice: Notice | None = None
    checkpoint: Checkpoint | None = None
    #: Why it ended; a word of `Reason`.
    reason: str | None = None
    #: How a run that was told to leave did. saved: it said so, or a checkpoint of the time since is there. unknown: it
    #: left by itself, and nothing shows that it had saved. ended: it was ended before.
    left: str | None = None
    #: Node seconds of work lost with it.
    lost_s: float | None = None
    #: Ranks whose own failure ended it; those that were ended because of it are not among them.
    failed_ranks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The rank of a run that failed first, and what it said last."""

    #: Number of the run.
    run: int
    rank: int
    node: str
    exit_code: int | None = None
    #: The signal that its command died of.
    signal: int | None = None
    #: When it had ended, by the clock of its node.
    at: datetime | None = None
    #: Whom torchrun names as the first of its workers that failed: `rank 1 (local_rank: 1), exitcode 1`.
    worker: str | None = None
    #: The last lines that say why, 20 at most, without those of torchrun itself; none where there is no log.
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunList:
    """The runs of a task, by number."""

    items: tuple[Run, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One line of a log. Lines of the platform itself (`rank` None) mark starts and ends of runs."""

    run: int
    rank: int | None = None
    #: When the line was written.
    at: datetime | None = None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPage:
    """Lines of one rank over the runs of a task, in order, as one story."""

    lines: tuple[LogLine, ...]
    #: Hand it on, unchanged, to read further: `<run>:<offset>`, or `<run>:start` before a run's first line.
    next_cursor: str
    #: Nothing will ever be added.
    final: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LogHits:
    """How often a text occurs, by run and rank, and the first lines that hold it."""

    counts: tuple[LogCount, ...]
    lines: tuple[LogLine, ...]
    #: False: the log is so long that only a part was searched.
    complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCount:
    """Hits in one rank of one run."""

    run: int
    rank: int
    hits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One line of history."""

    seq: int
    at: datetime
    kind: str
    actor: str
    user: str | None = None
    task_id: int | None = None
    data: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPage:
    """Events in order."""

    items: tuple[Event, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node, its mark and what runs on it."""

    name: str
    group: str
    leaf: str
    zone: str
    gpus: int
    ready: bool
    #: One of none, cordoned, draining, quarantined.
    mark: str
    #: The task that holds it, if one does and no other, and whose it is.
    task_id: int | None = None
    user: str | None = None
    #: GPUs that no task holds.
    gpus_free: int = 0
    #: Every task that holds it, or GPUs of it.
    tasks: tuple[NodeTask, ...] = ()
    #: The orphaned run that holds it, which belongs to no task of the database; None: none does.
    orphan: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTask:
    """A task on a node."""

    task_id: int
    user: str
    #: Indices of the GPUs that it holds there; empty: the whole node.
    gpus: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeList:
    """All nodes, by name."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelCount:
    """Tasks and nodes at one priority."""

    priority: str
    running_tasks: int
    running_nodes: int
    waiting_tasks: int
    waiting_nodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOverview:
    """A node group at a glance."""

    group: str
    nodes: int
    held: int
    free: int
    #: Cordoned, quarantined, draining or not ready, and not held.
    unavailable: int
    #: Of those held: nodes that have GPUs left for tasks that share nodes.
    shared: int = 0
    gpus: int = 0
    #: On nodes that take new runs.
    gpus_free: int = 0
    levels: tuple[LevelCount, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The cluster at a glance."""

    paused: bool
    groups: tuple[GroupOverview, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Whether the service is well. `status` is `ok` or `degraded`."""

    #: One of ok, degraded.
    status: str
    version: str
    #: Seconds since the last tick that went through.
    last_tick_s: float | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """A row of quota. limit None is no limit."""

    subject: str
    group: str
    priority: str
    limit: int | None
    #: Up to what users for whom the row counts may raise their own row themselves; None: not at all.
    ceiling: int | None = None
    #: From then on the row is as if it were not there.
    expires_at: datetime | None = None
    #: That time has come. Admins see such rows for 30 days.
    expired: bool
    #: In the answer to a change: what looks like a slip of the pen.
    warning: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaList:
    """All rows."""

    items: tuple[Quota, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnQuota:
    """What a user may hold at a level, and holds."""

    group: str
    priority: str
    #: None is no limit.
    limit: int | None
    #: Nodes; k GPUs of a node count as k / GPUs-of-the-node.
    used: float
    #: The row that decides: `user:NAME`, `group:NAME`, `public` or `none`.
    source: str
    #: Up to what he may raise the limit himself (PUT /me/quota); None: not at all.
    ceiling: int | None = None
    #: When that row runs out; None: never.
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Me:
    """Who asks."""

    name: str
    #: One of user, service.
    kind: str
    admin: bool
    groups: tuple[str, ...]
    scopes: tuple[str, ...]
    quota: tuple[OwnQuota, ...]
