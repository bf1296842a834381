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
from hai_client.wire.identities import Identity


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotIn:
    """A snapshot of code that the caller has sent."""

    digest: str  #: The SHA-256 of its manifest.
    commit: str | None = None  #: The commit of git that was checked out; None: there is none.
    dirty: bool = False  #: Whether a file was not as in that commit.


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRequest:
    """A task to submit."""

    name: str  #: Letters and digits of any script, `.`, `_` and `-`, beginning with a letter or digit; not a number.
    command: tuple[str, ...]  #: The program and its arguments.
    cwd: str  #: The folder to start in, absolute.
    nodes: int = 1
    #: GPUs on each of its nodes, which the task then shares with other such tasks; None: whole nodes.
    gpus: int | None = None
    priority: str = "NORMAL"  #: A level, or AUTO: the highest one that still has quota.
    group: str = "training"  #: The node group.
    #: Environment variables; names that the platform sets are refused.
    env: dict[str, str] = field(default_factory=dict)
    #: Secrets of the user that each run gets: `NAME` or `VARIABLE=NAME` as a variable, `PATH=NAME` as a file in memory.
    secrets: tuple[str, ...] = ()
    profile: str = "auto"  #: How the job is told to leave; with `auto` the platform finds out.
    #: The signal to send and, optionally, how many seconds before the deadline: `USR1@60`; None: the profile's.
    signal: str | None = None
    grace_s: float | None = None  #: Seconds between the notice and its deadline; None: the group's default.
    time_limit_s: float | None = None  #: Seconds of running after which the task is ended; None: no limit.
    checkpoint_dir: str | None = None  #: Absolute path; None: a folder that the platform creates.
    #: Paths, absolute or below cwd, whose changes count as checkpoints, beside changes in the folder for checkpoints.
    watch: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    hold: bool = False  #: Whether to hold the task: it does not start until it is resumed.
    retries: int = 0  #: How often the task is started again when its command fails.
    retry_backoff_s: float = 0.0  #: Seconds before the first retry; doubled before each further retry, up to a day.
    retry_exit_codes: tuple[int, ...] = ()  #: Exit statuses after which a retry is made; empty: any failure.
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
    gpus: int | None = None  #: GPUs on each of the nodes; None: whole nodes.


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Why a task waits."""

    kind: str
    sentence: str
    position: int | None = None  #: Place among the waiting tasks of its group, from 1; None for a held task.
    earliest_start: datetime | None = None  #: The earliest time at which the task can start; None: not known.
    data: dict[str, Any]  #: Data that depend on the kind: needs, free, limit, used, subject, until, deadline, ...
    #: The tasks that hold the nodes it needs, those with most nodes first. In a list of tasks only the first ten; `GET
    #: /tasks/{task}` and `GET /tasks/{task}/explain` have all.
    holders: tuple[Holder, ...] = ()
    holder_count: int = 0  #: How many tasks hold the nodes it needs, those that `holders` leaves out included.


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskProgress:
    """How far a job has come, as it reports it itself."""

    step: int  #: Steps that are done, over all runs.
    total: int | None = None  #: After how many steps it is done; None: it did not say.
    at: datetime  #: When it has said so.
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
    priority: str  #: The priority that was asked for.
    #: The priority that counts now: that of the run, or of the verdict while the task waits.
    effective_priority: str | None = None
    group: str
    nodes: int  #: Number of nodes of the task.
    gpus: int | None = None  #: GPUs on each of its nodes; None: whole nodes.
    node_names: tuple[str, ...]  #: The nodes on which it runs now, in rank order.
    submitted_at: datetime
    running_since: datetime | None = None  #: When its latest run was up.
    #: Since when GPUs of its run are idle (I1), of the rank that is idle for longest; None: none are.
    idle_gpus_since: datetime | None = None
    ended_at: datetime | None = None
    served_s: float  #: Running time of all runs so far, in seconds.
    run_count: int
    suspensions: int
    unsaved: int = 0  #: Number of consecutive interruptions without evidence of a checkpoint (P8).
    checkpoint: Checkpoint | None = None
    reason: str | None = None  #: Why the task, or its last run, ended; a value of `Reason`.
    message: str  #: What the task does now or why it ended, in one sentence.
    verdict: Verdict | None = None
    deadline: datetime | None = None  #: Deadline of the current notice; None: there is none.
    tags: tuple[str, ...] = ()
    progress: TaskProgress | None = None  #: What the job has reported last; None: nothing so far.
    short: ShortWait | None = None  #: Why it waits, in a few words; None: it does not wait.
    starred: bool | None = None  #: Whether the caller has starred it; None: not known here.
    #: In a list with `use`: what its run uses now or, of a run that has ended, used; None: nothing was measured.
    use: MeanUse | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskActionResult:
    """What became of one of the tasks."""

    task: str  #: The task as the request has named it.
    task_id: int | None = None  #: Its id and its state afterwards; None: it was refused.
    state: str | None = None
    held: bool | None = None
    code: str | None = None  #: Why it was refused, as a code and a sentence; None: it was done.
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

    digest: str  #: The SHA-256 of its manifest.
    files: int  #: How many files and links it has, and the bytes of all files.
    size: int
    commit: str | None = None  #: The commit of git that was checked out, as the client has said; None: there was none.
    dirty: bool  #: Whether a file was not as in that commit, as the client has said.


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(TaskSummary):
    """A task with its runs and what it executes."""

    command: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    #: The secrets that each run gets, as they were given; their values are nowhere to be read.
    secrets: tuple[str, ...] = ()
    profile: str
    signal: str | None = None
    watch: tuple[str, ...] = ()
    hint: str | None = None  #: Advice for the owner, as sentences.
    grace_s: float
    time_limit_s: float | None = None
    checkpoint_dir: str
    job_state: str | None = None
    retries: int = 0  #: How often the task may be started again when its command fails, and how often it was.
    retries_used: int = 0
    retry_backoff_s: float = 0.0
    retry_exit_codes: tuple[int, ...] = ()
    retry_at: datetime | None = None  #: While the task waits for a retry: the earliest time of that start.
    environment: str | None = None  #: Name of the image that the task runs in; None: the platform's own.
    #: That image with its digest, to which the task is pinned; None: what its name means at each start.
    image: str | None = None
    #: The generation of an environment of haienv that the task is pinned to; None: it uses none.
    haienv: Haienv | None = None
    #: The snapshot of the code in which all runs start; None: they start in `cwd` as it is then.
    snapshot: CodeSnapshot | None = None
    ranks_per_node: int | str | None = None  #: How often the command runs on each node; None: once, without a launcher.
    #: In the answer to a submission: warnings on what will probably not work as the user expects.
    warnings: tuple[str, ...] = ()
    failure: Failure | None = None  #: How the latest ended run has failed; None: it has not failed.
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPage:
    """A page of tasks, newest first or in the order that was asked for."""

    items: tuple[TaskSummary, ...]
    next_cursor: str | None = None
    total: int | None = None  #: With `total`: how many tasks match, on all pages.
    #: On the first page: what the caller should know, as sentences; now, of budgets that are almost used up.
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What is known of a checkpoint."""

    at: datetime
    step: int | None = None
    path: str | None = None
    source: str = "told"  #: told: the job reported it. seen: its files have changed.


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A notice: tells every rank of a run that it must leave."""

    kind: str  #: `suspend` or `stop`.
    reason: str
    message: str  #: Why the run must leave, in one sentence.
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
    gpus: tuple[int, ...] = ()  #: Indices of the GPUs that the rank holds there; empty: the whole node.
    state: str  #: One of pending, running, exited, lost.
    exit_code: int | None = None
    signal: int | None = None  #: The signal that ended the rank's command.
    notified_at: datetime | None = None
    #: Whether all processes that were sent a signal caught it; None: none was sent one, or it is not known.
    caught: bool | None = None
    done: bool
    message: str | None = None
    #: Since when all GPUs of the rank are idle (I1); None: they are not, or it is not known.
    idle_gpus_since: datetime | None = None
    #: Why its RDMA falls back to TCP; None: it does not, or it is not known. One of memlock, no_device, no_port,
    #: variable.
    fallback: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Haienv:
    """A generation of an environment of haienv."""

    name: str  #: The full name: `users/ann/vision`, `groups/cv/vision` or `base/torch`.
    generation: int
    digest: str  #: The digest of its files.
    interpreter: str  #: The program that the environment was made with.
    python: str  #: The version of its Python.
    flavour: str  #: One of venv, conda.
    latest: bool  #: Whether each run takes the generation that is current at its start; else all runs use this one.


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageLevel:
    """The mean over time and the greatest value of a metric."""

    mean: float
    peak: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """What a run used: levels of one rank and of one GPU, and sums over all of them; None: not measured."""

    seconds: float  #: For how long its ranks were sampled, seconds of all ranks together.
    cpu: UsageLevel | None = None  #: Cores, of a rank.
    memory: UsageLevel | None = None  #: Bytes, of a rank.
    gpus: int  #: How many GPUs were seen.
    gpu_seconds: float  #: Seconds of all GPUs together.
    gpu_idle_seconds: float  #: Those in which a GPU did nothing.
    gpu_use: UsageLevel | None = None  #: Per cent, of a GPU.
    gpu_memory: UsageLevel | None = None  #: Bytes, of a GPU.
    gpu_power: UsageLevel | None = None  #: Watts, of a GPU.
    joules: float  #: The energy of all GPUs together.


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a task."""

    id: str
    number: int
    state: str  #: One of starting, running, leaving, ended.
    priority: str
    nodes: tuple[str, ...]
    ranks: tuple[Rank, ...]
    started_at: datetime
    running_at: datetime | None = None
    ended_at: datetime | None = None
    notice: Notice | None = None
    checkpoint: Checkpoint | None = None
    reason: str | None = None  #: Why the run ended; a value of `Reason`.
    because: str | None = None  #: Why it ended or has to leave, as a part of a sentence; None: it does neither.
    #: How a run that was told to leave has left. saved: it said so, or a checkpoint after the notice exists. unknown:
    #: it left by itself, and nothing shows that it had saved. ended: it was ended before it left.
    left: str | None = None
    #: Node-seconds of work that were lost at its end; None: none were, or it is not known how many were.
    lost_s: float | None = None
    #: Ranks whose own failure ended the run; ranks that were ended because of that are not listed.
    failed_ranks: tuple[int, ...] = ()
    #: The generation of an environment of haienv that the run was started with; None: none.
    haienv: Haienv | None = None
    summary: RunSummary | None = None  #: What its ranks used; None until it has ended, and where nothing was measured.


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The rank of a run that failed first, and the last lines of its log."""

    run: int  #: Number of the run.
    rank: int
    node: str
    exit_code: int | None = None
    signal: int | None = None  #: The signal that ended the rank's command.
    at: datetime | None = None  #: When the rank ended, by the clock of its node.
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
    at: datetime | None = None  #: When the line was written.
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
    prev_cursor: str | None = None  #: Send it back as `before` to read the lines before these; None: there are none.
    final: bool  #: True: no line will be added any more.


@dataclass(frozen=True, slots=True, kw_only=True)
class LogHits:
    """How often a text occurs, by run and rank, and the first lines that contain it."""

    counts: tuple[LogCount, ...]
    lines: tuple[LogLine, ...]
    complete: bool = True  #: False: the log is so long that only a part was searched.


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

    cpu: float | None = None  #: Cores, and bytes of memory, of a rank.
    memory: float | None = None
    gpu_use: float | None = None  #: Per cent, bytes of memory and watts, of a GPU.
    gpu_memory: float | None = None
    gpu_power: float | None = None
    #: The part of the time of its GPUs in which they did nothing, 0 to 1, of a run that has ended.
    gpu_idle: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTask:
    """A task on a node. Of another user's task the name and the use are not told."""

    task_id: int
    user: str
    gpus: tuple[int, ...]  #: Indices of the GPUs that the task holds there; empty: the whole node.
    name: str = ""  #: Its name; empty: it is not told.
    run: int | None = None  #: Number of its run, and the priority that the run holds.
    priority: str | None = None
    #: What the run does: its ranks start, they run, or they were told to leave. One of starting, running, leaving.
    phase: str | None = None
    running_since: datetime | None = None  #: When all its ranks were up.
    deadline: datetime | None = None  #: Deadline of its notice; None: there is none.
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
    mark: str  #: One of none, cordoned, draining, quarantined.
    #: The only task that holds the node, and its user; None if no task or several tasks hold it.
    task_id: int | None = None
    user: str | None = None
    gpus_free: int = 0  #: Number of GPUs that a task can have now: no task holds them, and no pods from outside of HAI.
    tasks: tuple[NodeTask, ...] = ()  #: Every task that holds the node, or GPUs of it.
    #: The orphaned run that holds the node, which belongs to no task of the database; None: none does.
    orphan: str | None = None
    #: Its state in a word; the first of these that is so. Down: the cluster cannot reach it; closed: the cluster itself
    #: takes no new runs on it; crowded: no task is on it, and pods from outside of HAI have some of its room. One of
    #: down, orphaned, draining, cordoned, quarantined, closed, crowded, held, shared, free.
    state: str = "free"
    #: Why it takes no new runs, or not as many as it has GPUs for, as sentences; None: it does.
    reason: str | None = None
    #: Why RDMA falls back to TCP there, as a rank that runs there has found, and who can do what; None: it does not, or
    #: it is not known.
    network: str | None = None
    since: datetime | None = None  #: Since when it is ready or not, closed or open, and marked or not; None: not known.
    by: str | None = None  #: The admin who has put the mark on it, or has taken it away; None: no admin has.
    seen_at: datetime | None = None  #: When the service saw it last.


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
    unavailable: int  #: Nodes that are cordoned, quarantined, draining or not ready, and not held.
    shared: int = 0  #: Held nodes that have GPUs left for tasks that share nodes.
    gpus: int = 0
    gpus_free: int = 0  #: Free GPUs on nodes that take new runs.
    levels: tuple[LevelCount, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The cluster at a glance."""

    paused: bool
    groups: tuple[GroupOverview, ...]
    standstill: str | None = None  #: Why the scheduler decides nothing now, in a sentence; None: it decides.


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewTask:
    """A task in a preview."""

    task_id: int
    name: str
    user: str
    priority: str | None = None  #: The priority that its run holds, or that was asked for; None: AUTO, and it waits.
    nodes: int
    gpus: int | None = None  #: GPUs on each of its nodes; None: whole nodes.


@dataclass(frozen=True, slots=True, kw_only=True)
class DisplacedTask(PreviewTask):
    """A task that would be told to leave."""

    node_names: tuple[str, ...]  #: Those of its nodes that would be marked.
    away_by: datetime | None = None  #: When it is away at the latest: the deadline of its notice; None: not known.
    #: When and where it would go on; None and empty: not in the time that was computed.
    goes_on_at: datetime | None = None
    goes_on_nodes: tuple[str, ...]
    ends: bool  #: Whether it would end by itself instead.


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedTask(PreviewTask):
    """A task on other nodes that would make room for a displaced one."""

    at: datetime
    beneficiary: int  #: That one.


@dataclass(frozen=True, slots=True, kw_only=True)
class LaterTask(PreviewTask):
    """A waiting task that would start later."""

    without: datetime  #: When it would start without the mark, and with it; None: not in the time that was computed.
    with_mark: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """Something that computed times or figures rest on, or what they cannot know."""

    name: str  #: Which it is. Who does not know it shows the sentence.
    sentence: str
    count: int | None = None  #: The number of tasks or nodes that it is about; None: it is about no number.
    length_s: float | None = None  #: The length of time that it names, in seconds; None: it names none.


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkPreview:
    """What a mark on nodes would do, from the planner itself; nothing was done."""

    at: datetime
    nodes: tuple[str, ...]
    mark: str  #: One of cordoned, draining.
    sentence: str  #: The whole in a few sentences.
    displaced: tuple[DisplacedTask, ...]
    staying: tuple[PreviewTask, ...]  #: Tasks that would stay on these nodes until their runs end.
    moved: tuple[MovedTask, ...]
    #: The first 100 of each node group, the soonest first; and how many there are beyond them.
    later: tuple[LaterTask, ...]
    later_left_out: int
    #: When the last task that is told to leave is away at the latest; None: none is told.
    empty_by: datetime | None = None
    computed_until: datetime  #: Up to when the planner was run, and the precision of its times, in seconds.
    step_s: float
    assumptions: tuple[Assumption, ...]  #: What the times rest on.


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Whether the service is well. `status` is `ok` or `degraded`."""

    status: str  #: One of ok, degraded.
    version: str
    last_tick_s: float | None = None  #: Seconds since the last tick that succeeded.
    detail: str | None = None  #: What is wrong, in a sentence; None: all is well.
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
    until: datetime | None = None  #: About when that is over, if it can be said; the words then end with it.
    words: str  #: The words, without capital, full stop and that time.
    text: str  #: The words with that time.


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueTask:
    """A task that waits. Of another user's task the name is not told, and of its quota nothing."""

    number: int  #: Its number in this list.
    position: int | None = None  #: Its place among the waiting tasks of its group, from 1; None: its owner holds it.
    task_id: int
    user: str
    name: str  #: Its name; empty: it is not told.
    priority: str  #: The priority that counts now.
    #: The priority that was asked for: tasks of one user change places where it is the same. Null: it is not told.
    asked: str | None = None
    nodes: int
    gpus: int | None = None  #: GPUs on each of its nodes; None: whole nodes.
    state: str  #: One of queued, suspended.
    submitted_at: datetime
    waiting_since: datetime
    short: ShortWait


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupQueue:
    """The queue of a node group."""

    group: str
    waiting: int  #: How many tasks wait for a turn, and how many are held by their owners.
    held: int
    items: tuple[QueueTask, ...]
    next: int | None = None  #: `after` of the next page; None: this is the last one.


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """The queues of node groups, as the latest plan has them; groups in which nothing waits are left out."""

    at: datetime | None = None  #: When that plan was made.
    groups: tuple[GroupQueue, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UseNow:
    """What the nodes do now, in nodes; k GPUs of a node count k / GPUs-of-the-node."""

    nodes: int
    held: float  #: Nodes that runs hold: the sum of the four below.
    starting: float  #: Those of runs that start, that compute, whose GPUs are idle, and that were told to leave.
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
    until: datetime  #: Up to when it is counted: its end, but for the present hour.
    #: All node time there was, and in it that of nodes which took no new runs; None: it was not recorded.
    capacity_s: float | None = None
    down_s: float | None = None
    held_s: float  #: Node time that runs held, and in it that of their starts, of work, of saving and of lost work.
    starting_s: float
    useful_s: float
    saving_s: float
    lost_s: float
    #: Seconds of GPUs in which they did nothing, as far as runs have ended: of those that go on it is not known yet.
    gpu_idle_s: float
    occupancy: float | None = None  #: The parts of all node time that were held, and useful, 0 to 1; None: not known.
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
    standstill: str | None = None  #: Why the scheduler decides nothing now, in a sentence; None: it decides.
    now: UseNow
    hours: tuple[Hour, ...]  #: The last 24 hours and the present one, the oldest first.
    levels: tuple[LevelCount, ...]  #: Running and waiting tasks by priority, over all node groups; the highest first.
    groups: tuple[GroupOverview, ...]
    submitted_3h: int  #: How many tasks were submitted, and ended, in the last three hours.
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
    expires_at: datetime | None = None  #: From this time on the row does not count; None: it does not expire.
    expired: bool  #: Whether that time has come. Admins see such rows for 30 days.
    version: str = ""  #: Sent back in `If-Match`, it makes a change fail if the row has changed in the meantime.
    warning: str | None = None  #: In the answer to a change: a warning, if the row is probably a mistake.


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaList:
    """Rows of quota."""

    items: tuple[Quota, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnQuota:
    """How much a user may hold at a level, and how much the user holds."""

    group: str
    priority: str
    limit: int | None  #: The limit in nodes; None: no limit.
    used: float  #: Nodes that the user holds; k GPUs of a node count as k / GPUs-of-the-node.
    source: str  #: The row that gives the limit: `user:NAME`, `group:NAME`, `public` or `none`.
    #: The highest limit to which users may raise it themselves (PUT /me/quota); None: they may not.
    ceiling: int | None = None
    expires_at: datetime | None = None  #: When that row expires; None: never.


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
    kind: str  #: One of user, service.
    admin: bool
    groups: tuple[str, ...]
    scopes: tuple[str, ...]
    quota: tuple[OwnQuota, ...]
    identity: Identity | None = None  #: Who the caller's processes are; None: the platform's one account, or nobody.
    no_identity: str = ""  #: Why nothing of the caller starts; empty: it does.
