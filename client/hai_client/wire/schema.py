"""Bodies that the service sends and accepts, as frozen dataclasses.

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
class SnapshotIn:
    """A snapshot of code that the caller has sent."""

    #: The SHA-256 of its manifest.
    digest: str
    #: The commit of git that was checked out; None: there is none.
    commit: str | None = None
    #: Whether a file was not as in that commit.
    dirty: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRequest:
    """A task to submit."""

    #: Letters and digits of any script, `.`, `_` and `-`, beginning with a letter or digit; not a number.
    name: str
    #: The program and its arguments.
    command: tuple[str, ...]
    #: The folder to start in, absolute.
    cwd: str
    nodes: int = 1
    #: GPUs on each of its nodes, which the task then shares with other such tasks; None: whole nodes.
    gpus: int | None = None
    #: A level, or AUTO: the highest one that still has quota.
    priority: str = "NORMAL"
    #: The node group.
    group: str = "training"
    #: Environment variables; names that the platform sets are refused.
    env: dict[str, str] = field(default_factory=dict)
    #: How the job is told to leave; with `auto` the platform finds out.
    profile: str = "auto"
    #: The signal to send and, optionally, how many seconds before the deadline: `USR1@60`; None: the profile's.
    signal: str | None = None
    #: Seconds between the notice and its deadline; None: the group's default.
    grace_s: float | None = None
    #: Seconds of running after which the task is ended; None: no limit.
    time_limit_s: float | None = None
    #: Absolute path; None: a folder that the platform creates.
    checkpoint_dir: str | None = None
    #: Paths, absolute or below cwd, whose changes count as checkpoints, beside changes in the folder for checkpoints.
    watch: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    #: Whether to hold the task: it does not start until it is resumed.
    hold: bool = False
    #: How often the task is started again when its command fails.
    retries: int = 0
    #: Seconds before the first retry; doubled before each further retry, up to a day.
    retry_backoff_s: float = 0.0
    #: Exit statuses after which a retry is made; empty: any failure.
    retry_exit_codes: tuple[int, ...] = ()
    #: What to run in: the name of an image (GET /environments) or `images/NAME`, or an environment of haienv by its
    #: bare name, its full name (`users/ann/vision`) or one of its generations (`vision@3`); None: the user's default
    #: image, else the platform's own.
    environment: str | None = None
    #: Whether each run takes the generation of the environment of haienv that is current at its start; else all runs
    #: use the generation that is current now.
    env_latest: bool = False
    #: The snapshot of its code, in which all runs start; None: they start in `cwd` as it is then.
    snapshot: SnapshotIn | None = None
    #: In the answer to `POST /tasks/parse`: the file asks for a snapshot of `cwd`. Who submits it has to send one, and
    #: to set `snapshot`.
    take_snapshot: bool | None = None
    #: How often the command runs on each node, with LOCAL_RANK and so on; `gpu`: once for each of its GPUs; None: once,
    #: and RANK counts nodes.
    ranks_per_node: int | str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A task that holds nodes which another one needs."""

    task_id: int
    name: str
    user: str
    priority: str
    nodes: int
    #: GPUs on each of the nodes; None: whole nodes.
    gpus: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Why a task waits."""

    kind: str
    sentence: str
    #: Place among the waiting tasks of its group, from 1; None for a held task.
    position: int | None = None
    #: The earliest time at which the task can start; None: not known.
    earliest_start: datetime | None = None
    #: Data that depend on the kind: needs, free, limit, used, subject, until, deadline, ...
    data: dict[str, Any]
    #: The tasks that hold the nodes it needs, those with most nodes first. In a list of tasks only the first ten; `GET
    #: /tasks/{task}` and `GET /tasks/{task}/explain` have all.
    holders: tuple[Holder, ...] = ()
    #: How many tasks hold the nodes it needs, those that `holders` leaves out included.
    holder_count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskProgress:
    """How far a job has come, as it reports it itself."""

    #: Steps that are done, over all runs.
    step: int
    #: After how many steps it is done; None: it did not say.
    total: int | None = None
    #: When it has said so.
    at: datetime
    #: How long it still has to run at this pace, in seconds, without the time that it waits; None: not known.
    left_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSummary:
    """A task in a list."""

    id: int
    name: str
    user: str
    state: str
    held: bool
    #: The priority that was asked for.
    priority: str
    #: The priority that counts now: that of the run, or of the verdict while the task waits.
    effective_priority: str | None = None
    group: str
    #: Number of nodes of the task.
    nodes: int
    #: GPUs on each of its nodes; None: whole nodes.
    gpus: int | None = None
    #: The nodes on which it runs now, in rank order.
    node_names: tuple[str, ...]
    submitted_at: datetime
    #: When its latest run was up.
    running_since: datetime | None = None
    #: Since when GPUs of its run are idle (I1), of the rank that is idle for longest; None: none are.
    idle_gpus_since: datetime | None = None
    ended_at: datetime | None = None
    #: Running time of all runs so far, in seconds.
    served_s: float
    run_count: int
    suspensions: int
    #: Number of consecutive interruptions without evidence of a checkpoint (P8).
    unsaved: int = 0
    checkpoint: Checkpoint | None = None
    #: Why the task, or its last run, ended; a value of `Reason`.
    reason: str | None = None
    #: What the task does now or why it ended, in one sentence.
    message: str
    verdict: Verdict | None = None
    #: Deadline of the current notice; None: there is none.
    deadline: datetime | None = None
    tags: tuple[str, ...] = ()
    #: What the job has reported last; None: nothing so far.
    progress: TaskProgress | None = None
    #: Why it waits, in a few words; None: it does not wait.
    short: ShortWait | None = None
    #: Whether the caller has starred it; None: not known here.
    starred: bool | None = None
    #: In a list with `use`: what its run uses now or, of a run that has ended, used; None: nothing was measured.
    use: MeanUse | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskActionResult:
    """What became of one of the tasks."""

    #: The task as the request has named it.
    task: str
    #: Its id and its state afterwards; None: it was refused.
    task_id: int | None = None
    state: str | None = None
    held: bool | None = None
    #: Why it was refused, as a code and a sentence; None: it was done.
    code: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskActionResults:
    """What became of each task, in the order of the request."""

    items: tuple[TaskActionResult, ...]
    done: int
    refused: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeSnapshot:
    """The snapshot of a task's code."""

    #: The SHA-256 of its manifest.
    digest: str
    #: How many files and links it has, and the bytes of all files.
    files: int
    size: int
    #: The commit of git that was checked out, as the client has said; None: there was none.
    commit: str | None = None
    #: Whether a file was not as in that commit, as the client has said.
    dirty: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(TaskSummary):
    """A task with its runs and what it executes."""

    command: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    profile: str
    signal: str | None = None
    watch: tuple[str, ...] = ()
    #: Advice for the owner, as sentences.
    hint: str | None = None
    grace_s: float
    time_limit_s: float | None = None
    checkpoint_dir: str
    job_state: str | None = None
    #: How often the task may be started again when its command fails, and how often it was.
    retries: int = 0
    retries_used: int = 0
    retry_backoff_s: float = 0.0
    retry_exit_codes: tuple[int, ...] = ()
    #: While the task waits for a retry: the earliest time of that start.
    retry_at: datetime | None = None
    #: Name of the image that the task runs in; None: the platform's own.
    environment: str | None = None
    #: That image with its digest, to which the task is pinned; None: what its name means at each start.
    image: str | None = None
    #: The generation of an environment of haienv that the task is pinned to; None: it uses none.
    haienv: Haienv | None = None
    #: The snapshot of the code in which all runs start; None: they start in `cwd` as it is then.
    snapshot: CodeSnapshot | None = None
    #: How often the command runs on each node; None: once, without a launcher.
    ranks_per_node: int | str | None = None
    #: In the answer to a submission: warnings on what will probably not work as the user expects.
    warnings: tuple[str, ...] = ()
    #: How the latest ended run has failed; None: it has not failed.
    failure: Failure | None = None
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPage:
    """A page of tasks, newest first or in the order that was asked for."""

    items: tuple[TaskSummary, ...]
    next_cursor: str | None = None
    #: With `total`: how many tasks match, on all pages.
    total: int | None = None
    #: On the first page: what the caller should know, as sentences; now, of budgets that are almost used up.
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What is known of a checkpoint."""

    at: datetime
    step: int | None = None
    path: str | None = None
    #: told: the job reported it. seen: its files have changed.
    source: str = "told"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A notice: tells every rank of a run that it must leave."""

    #: `suspend` or `stop`.
    kind: str
    reason: str
    #: Why the run must leave, in one sentence.
    message: str
    beneficiary: int | None = None
    at: datetime
    deadline: datetime
    revision: int
    #: When every rank's supervisor sends the signals of the notice, at most 50 ms ahead; None: at once.
    signal_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """One rank of a run."""

    rank: int
    node: str
    #: Indices of the GPUs that the rank holds there; empty: the whole node.
    gpus: tuple[int, ...] = ()
    #: One of pending, running, exited, lost.
    state: str
    exit_code: int | None = None
    #: The signal that ended the rank's command.
    signal: int | None = None
    notified_at: datetime | None = None
    #: Whether all processes that were sent a signal caught it; None: none was sent one, or it is not known.
    caught: bool | None = None
    done: bool
    message: str | None = None
    #: Since when all GPUs of the rank are idle (I1); None: they are not, or it is not known.
    idle_gpus_since: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Haienv:
    """A generation of an environment of haienv."""

    #: The full name: `users/ann/vision`, `groups/cv/vision` or `base/torch`.
    name: str
    generation: int
    #: The digest of its files.
    digest: str
    #: The program that the environment was made with.
    interpreter: str
    #: The version of its Python.
    python: str
    #: One of venv, conda.
    flavour: str
    #: Whether each run takes the generation that is current at its start; else all runs use this one.
    latest: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageLevel:
    """The mean over time and the greatest value of a metric."""

    mean: float
    peak: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """What a run used: levels of one rank and of one GPU, and sums over all of them; None: not measured."""

    #: For how long its ranks were sampled, seconds of all ranks together.
    seconds: float
    #: Cores, of a rank.
    cpu: UsageLevel | None = None
    #: Bytes, of a rank.
    memory: UsageLevel | None = None
    #: How many GPUs were seen.
    gpus: int
    #: Seconds of all GPUs together.
    gpu_seconds: float
    #: Those in which a GPU did nothing.
    gpu_idle_seconds: float
    #: Per cent, of a GPU.
    gpu_use: UsageLevel | None = None
    #: Bytes, of a GPU.
    gpu_memory: UsageLevel | None = None
    #: Watts, of a GPU.
    gpu_power: UsageLevel | None = None
    #: The energy of all GPUs together.
    joules: float


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
    #: Why the run ended; a value of `Reason`.
    reason: str | None = None
    #: Why it ended or has to leave, as a part of a sentence; None: it does neither.
    because: str | None = None
    #: How a run that was told to leave has left. saved: it said so, or a checkpoint after the notice exists. unknown:
    #: it left by itself, and nothing shows that it had saved. ended: it was ended before it left.
    left: str | None = None
    #: Node-seconds of work that were lost at its end; None: none were, or it is not known how many were.
    lost_s: float | None = None
    #: Ranks whose own failure ended the run; ranks that were ended because of that are not listed.
    failed_ranks: tuple[int, ...] = ()
    #: The generation of an environment of haienv that the run was started with; None: none.
    haienv: Haienv | None = None
    #: What its ranks used; None until it has ended, and where nothing was measured.
    summary: RunSummary | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The rank of a run that failed first, and the last lines of its log."""

    #: Number of the run.
    run: int
    rank: int
    node: str
    exit_code: int | None = None
    #: The signal that ended the rank's command.
    signal: int | None = None
    #: When the rank ended, by the clock of its node.
    at: datetime | None = None
    #: The worker that failed first, of those that torchrun names: `rank 1 (local_rank: 1), exitcode 1`.
    worker: str | None = None
    #: The last lines of the log that say why, 20 at most, without torchrun's own; empty without a log.
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
    #: The position behind the line: the log goes on there (`cursor`), and the line is the last one that ends there
    #: (`before`).
    cursor: str
    #: True: a state of a line that is being written again, such as a progress bar. The next line of the rank takes its
    #: place.
    rewritten: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPage:
    """Lines of one rank over all runs of a task, in order."""

    lines: tuple[LogLine, ...]
    #: Send it back as `cursor` to read further: `<run>:<offset>`, or `<run>:start` before a run's first line.
    next_cursor: str
    #: Send it back as `before` to read the lines before these; None: there are none.
    prev_cursor: str | None = None
    #: True: no line will be added any more.
    final: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LogHits:
    """How often a text occurs, by run and rank, and the first lines that contain it."""

    counts: tuple[LogCount, ...]
    lines: tuple[LogLine, ...]
    #: False: the log is so long that only a part was searched.
    complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCount:
    """Number of hits in one rank of one run."""

    run: int
    rank: int
    hits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event of the history."""

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
class MeanUse:
    """What a run uses in the mean; None: not measured."""

    #: Cores, and bytes of memory, of a rank.
    cpu: float | None = None
    memory: float | None = None
    #: Per cent, bytes of memory and watts, of a GPU.
    gpu_use: float | None = None
    gpu_memory: float | None = None
    gpu_power: float | None = None
    #: The part of the time of its GPUs in which they did nothing, 0 to 1, of a run that has ended.
    gpu_idle: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTask:
    """A task on a node. Of another user's task the name and the use are not told."""

    task_id: int
    user: str
    #: Indices of the GPUs that the task holds there; empty: the whole node.
    gpus: tuple[int, ...]
    #: Its name; empty: it is not told.
    name: str = ""
    #: Number of its run, and the priority that the run holds.
    run: int | None = None
    priority: str | None = None
    #: What the run does: its ranks start, they run, or they were told to leave. One of starting, running, leaving.
    phase: str | None = None
    #: When all its ranks were up.
    running_since: datetime | None = None
    #: Deadline of its notice; None: there is none.
    deadline: datetime | None = None
    #: What it uses on this node; None: nothing was measured in the last five minutes, or it was not asked for.
    use: MeanUse | None = None


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
    #: The only task that holds the node, and its user; None if no task or several tasks hold it.
    task_id: int | None = None
    user: str | None = None
    #: Number of GPUs that no task holds.
    gpus_free: int = 0
    #: Every task that holds the node, or GPUs of it.
    tasks: tuple[NodeTask, ...] = ()
    #: The orphaned run that holds the node, which belongs to no task of the database; None: none does.
    orphan: str | None = None
    #: Its state in a word; the first of these that is so. Down: the cluster cannot reach it; closed: the cluster itself
    #: takes no new runs on it. One of down, orphaned, draining, cordoned, quarantined, closed, held, shared, free.
    state: str = "free"
    #: Why it takes no new runs, as sentences; None: it does.
    reason: str | None = None
    #: Since when it is ready or not, closed or open, and marked or not; None: not known.
    since: datetime | None = None
    #: The admin who has put the mark on it, or has taken it away; None: no admin has.
    by: str | None = None
    #: When the service saw it last.
    seen_at: datetime | None = None


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
    #: Nodes that are cordoned, quarantined, draining or not ready, and not held.
    unavailable: int
    #: Held nodes that have GPUs left for tasks that share nodes.
    shared: int = 0
    gpus: int = 0
    #: Free GPUs on nodes that take new runs.
    gpus_free: int = 0
    levels: tuple[LevelCount, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The cluster at a glance."""

    paused: bool
    groups: tuple[GroupOverview, ...]
    #: Why the scheduler decides nothing now, in a sentence; None: it decides.
    standstill: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewTask:
    """A task in a preview."""

    task_id: int
    name: str
    user: str
    #: The priority that its run holds, or that was asked for; None: AUTO, and it waits.
    priority: str | None = None
    nodes: int
    #: GPUs on each of its nodes; None: whole nodes.
    gpus: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DisplacedTask(PreviewTask):
    """A task that would be told to leave."""

    #: Those of its nodes that would be marked.
    node_names: tuple[str, ...]
    #: When it is away at the latest: the deadline of its notice; None: not known.
    away_by: datetime | None = None
    #: When and where it would go on; None and empty: not in the time that was computed.
    goes_on_at: datetime | None = None
    goes_on_nodes: tuple[str, ...]
    #: Whether it would end by itself instead.
    ends: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedTask(PreviewTask):
    """A task on other nodes that would make room for a displaced one."""

    at: datetime
    #: That one.
    beneficiary: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LaterTask(PreviewTask):
    """A waiting task that would start later."""

    #: When it would start without the mark, and with it; None: not in the time that was computed.
    without: datetime
    with_mark: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """Something that computed times or figures rest on, or what they cannot know."""

    #: Which it is. Who does not know it shows the sentence.
    name: str
    sentence: str
    #: The number of tasks or nodes that it is about; None: it is about no number.
    count: int | None = None
    #: The length of time that it names, in seconds; None: it names none.
    length_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkPreview:
    """What a mark on nodes would do, from the planner itself; nothing was done."""

    at: datetime
    nodes: tuple[str, ...]
    #: One of cordoned, draining.
    mark: str
    #: The whole in a few sentences.
    sentence: str
    displaced: tuple[DisplacedTask, ...]
    #: Tasks that would stay on these nodes until their runs end.
    staying: tuple[PreviewTask, ...]
    moved: tuple[MovedTask, ...]
    #: The first 100 of each node group, the soonest first; and how many there are beyond them.
    later: tuple[LaterTask, ...]
    later_left_out: int
    #: When the last task that is told to leave is away at the latest; None: none is told.
    empty_by: datetime | None = None
    #: Up to when the planner was run, and the precision of its times, in seconds.
    computed_until: datetime
    step_s: float
    #: What the times rest on.
    assumptions: tuple[Assumption, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Whether the service is well. `status` is `ok` or `degraded`."""

    #: One of ok, degraded.
    status: str
    version: str
    #: Seconds since the last tick that succeeded.
    last_tick_s: float | None = None
    #: What is wrong, in a sentence; None: all is well.
    detail: str | None = None
    #: Whether the scheduler decides. While it does not, no task starts, none is interrupted, and running tasks go on.
    deciding: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortWait:
    """Why a task waits, in a few words."""

    #: One of quota, quota_of_others, capacity, turn, reserved, draining, topology, retry, held, paused, never, next.
    id: str
    #: What the words need: `nodes`, `gpus`, `group`; also `used`, `limit` and `level` (quota), `first` (reserved), and
    #: `retry` and `of` (retry).
    data: dict[str, Any]
    #: About when that is over, if it can be said; the words then end with it.
    until: datetime | None = None
    #: The words, without capital, full stop and that time.
    words: str
    #: The words with that time.
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueTask:
    """A task that waits. Of another user's task the name is not told, and of its quota nothing."""

    #: Its number in this list.
    number: int
    #: Its place among the waiting tasks of its group, from 1; None: its owner holds it.
    position: int | None = None
    task_id: int
    user: str
    #: Its name; empty: it is not told.
    name: str
    #: The priority that counts now.
    priority: str
    #: The priority that was asked for: tasks of one user change places where it is the same. Null: it is not told.
    asked: str | None = None
    nodes: int
    #: GPUs on each of its nodes; None: whole nodes.
    gpus: int | None = None
    #: One of queued, suspended.
    state: str
    submitted_at: datetime
    waiting_since: datetime
    short: ShortWait


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupQueue:
    """The queue of a node group."""

    group: str
    #: How many tasks wait for a turn, and how many are held by their owners.
    waiting: int
    held: int
    items: tuple[QueueTask, ...]
    #: `after` of the next page; None: this is the last one.
    next: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """The queues of node groups, as the latest plan has them; groups in which nothing waits are left out."""

    #: When that plan was made.
    at: datetime | None = None
    groups: tuple[GroupQueue, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UseNow:
    """What the nodes do now, in nodes; k GPUs of a node count k / GPUs-of-the-node."""

    nodes: int
    #: Nodes that runs hold: the sum of the four below.
    held: float
    #: Those of runs that start, that compute, whose GPUs are idle, and that were told to leave.
    starting: float
    useful: float
    idle: float
    leaving: float
    #: The parts of all nodes that are held, and that compute, 0 to 1; None: there is no node.
    occupancy: float | None = None
    useful_share: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hour:
    """What the nodes did in an hour. Lengths of time are seconds of nodes."""

    hour: datetime
    #: Up to when it is counted: its end, but for the present hour.
    until: datetime
    #: All node time there was, and in it that of nodes which took no new runs; None: it was not recorded.
    capacity_s: float | None = None
    down_s: float | None = None
    #: Node time that runs held, and in it that of their starts, of work, of saving and of lost work.
    held_s: float
    starting_s: float
    useful_s: float
    saving_s: float
    lost_s: float
    #: Seconds of GPUs in which they did nothing, as far as runs have ended: of those that go on it is not known yet.
    gpu_idle_s: float
    #: The parts of all node time that were held, and useful, 0 to 1; None: not known.
    occupancy: float | None = None
    useful_share: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedCount:
    """How many tasks ended in some time."""

    succeeded: int
    failed: int
    stopped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The cluster now and over the last day, the same for every reader."""

    at: datetime
    #: The number of the last event before: with `after` of it, `GET /events` tells all that has changed since.
    change: int
    paused: bool
    #: Why the scheduler decides nothing now, in a sentence; None: it decides.
    standstill: str | None = None
    now: UseNow
    #: The last 24 hours and the present one, the oldest first.
    hours: tuple[Hour, ...]
    #: Running and waiting tasks by priority, over all node groups; the highest first.
    levels: tuple[LevelCount, ...]
    groups: tuple[GroupOverview, ...]
    #: How many tasks were submitted, and ended, in the last three hours.
    submitted_3h: int
    ended_3h: EndedCount


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """A row of quota. `limit` None is no limit."""

    subject: str
    group: str
    priority: str
    limit: int | None
    #: The highest limit to which users for whom the row counts may raise their own row; None: they may not.
    ceiling: int | None = None
    #: From this time on the row does not count; None: it does not expire.
    expires_at: datetime | None = None
    #: Whether that time has come. Admins see such rows for 30 days.
    expired: bool
    #: Sent back in `If-Match`, it makes a change fail if the row has changed in the meantime.
    version: str = ""
    #: In the answer to a change: a warning, if the row is probably a mistake.
    warning: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaList:
    """Rows of quota."""

    items: tuple[Quota, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnQuota:
    """How much a user may hold at a level, and how much the user holds."""

    group: str
    priority: str
    #: The limit in nodes; None: no limit.
    limit: int | None
    #: Nodes that the user holds; k GPUs of a node count as k / GPUs-of-the-node.
    used: float
    #: The row that gives the limit: `user:NAME`, `group:NAME`, `public` or `none`.
    source: str
    #: The highest limit to which users may raise it themselves (PUT /me/quota); None: they may not.
    ceiling: int | None = None
    #: When that row expires; None: never.
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UserQuota(OwnQuota):
    """What a user may hold and holds at a level."""

    #: The limit of the row `user:NAME` itself; None: it has no limit, or there is no such row.
    own_limit: int | None = None
    #: The version of the row `user:NAME`, for `If-Match`; None: there is none, and `If-None-Match: *` writes the first.
    own_version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Me:
    """The user or service that asks."""

    name: str
    #: One of user, service.
    kind: str
    admin: bool
    groups: tuple[str, ...]
    scopes: tuple[str, ...]
    quota: tuple[OwnQuota, ...]
