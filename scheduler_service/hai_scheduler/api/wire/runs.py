"""Models of runs, their ranks and notices, of what a run may ask about itself, and of orphaned runs."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from hai_scheduler.api.wire.base import MAX_NUMBER, Input, Length, LevelName, Moment, Output, TaskStateName
from hai_scheduler.core.model.run import Fallback
from hai_scheduler.service.shared.sent_as import by_word

FallbackName = Literal["memlock", "no_device", "no_port", "variable"]


class OrphanOut(Output):
    """An orphaned run: a run on the cluster without a task, since the database was restored or is another one."""

    #: `<task id>.<run number>` in the database that had started the run.
    run: str
    #: `<database>-<epoch>`; null for runs that older versions have started.
    origin: str | None
    #: The user of the run; null: the cluster does not know.
    user: str | None
    #: The nodes that the run holds.
    nodes: list[str]
    #: Whether a process of it is left. An ended run that may be another platform's stays until an admin ends it here.
    live: bool
    #: Whether an admin has ordered its end.
    ending: bool


class OrphanList(Output):
    """All orphaned runs."""

    items: list[OrphanOut]


class CheckpointOut(Output):
    """What is known of a checkpoint."""

    at: datetime
    step: int | None
    path: str | None
    #: told: the job reported it. seen: its files have changed.
    source: Literal["told", "seen"] = "told"


class NoticeOut(Output):
    """A notice: tells every rank of a run that it must leave."""

    #: `suspend` or `stop`.
    kind: Literal["suspend", "stop"]
    reason: str
    #: Why the run must leave, in one sentence.
    message: str
    beneficiary: int | None
    at: datetime
    deadline: datetime
    revision: int
    #: When every rank's supervisor sends the signals of the notice, at most 50 ms ahead; null: at once.
    signal_at: datetime | None = None


class RankOut(Output):
    """One rank of a run."""

    rank: int
    node: str
    #: Indices of the GPUs that the rank holds there; empty: the whole node.
    gpus: list[int] = []
    state: Literal["pending", "running", "exited", "lost"]
    exit_code: int | None
    #: The signal that ended the rank's command.
    signal: int | None = None
    notified_at: datetime | None
    #: Whether all processes that were sent a signal caught it; null: none was sent one, or it is not known.
    caught: bool | None = None
    done: bool
    message: str | None
    #: Since when all GPUs of the rank are idle (I1); null: they are not, or it is not known.
    idle_gpus_since: datetime | None = None
    #: Why its RDMA falls back to TCP; null: it does not, or it is not known.
    fallback: FallbackName | None = None


class HaienvOut(Output):
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
    flavour: Literal["venv", "conda"]
    #: Whether each run takes the generation that is current at its start; else all runs use this one.
    latest: bool


class UsageLevelOut(Output):
    """The mean over time and the greatest value of a metric."""

    mean: float
    peak: float


class RunSummaryOut(Output):
    """What a run used: levels of one rank and of one GPU, and sums over all of them; null: not measured."""

    #: For how long its ranks were sampled, seconds of all ranks together.
    seconds: float
    #: Cores, of a rank.
    cpu: UsageLevelOut | None
    #: Bytes, of a rank.
    memory: UsageLevelOut | None
    #: How many GPUs were seen.
    gpus: int
    #: Seconds of all GPUs together.
    gpu_seconds: float
    #: Those in which a GPU did nothing.
    gpu_idle_seconds: float
    #: Per cent, of a GPU.
    gpu_use: UsageLevelOut | None
    #: Bytes, of a GPU.
    gpu_memory: UsageLevelOut | None
    #: Watts, of a GPU.
    gpu_power: UsageLevelOut | None
    #: The energy of all GPUs together.
    joules: float


class RunOut(Output):
    """One run of a task."""

    id: str
    number: int
    state: Literal["starting", "running", "leaving", "ended"]
    priority: LevelName
    nodes: list[str]
    ranks: list[RankOut]
    started_at: datetime
    running_at: datetime | None
    ended_at: datetime | None
    notice: NoticeOut | None
    checkpoint: CheckpointOut | None
    #: Why the run ended; a value of `Reason`.
    reason: str | None
    #: Why it ended or has to leave, as a part of a sentence; null: it does neither.
    because: str | None
    #: How a run that was told to leave has left. saved: it said so, or a checkpoint after the notice exists.
    #: unknown: it left by itself, and nothing shows that it had saved. ended: it was ended before it left.
    left: Literal["saved", "unknown", "ended"] | None
    #: Node-seconds of work that were lost at its end; null: none were, or it is not known how many were.
    lost_s: Length | None
    #: Ranks whose own failure ended the run; ranks that were ended because of that are not listed.
    failed_ranks: list[int] = []
    #: The generation of an environment of haienv that the run was started with; null: none.
    haienv: HaienvOut | None = None
    #: What its ranks used; null until it has ended, and where nothing was measured.
    summary: RunSummaryOut | None = None


class FailureOut(Output):
    """The rank of a run that failed first, and the last lines of its log."""

    #: Number of the run.
    run: int
    rank: int
    node: str
    exit_code: int | None
    #: The signal that ended the rank's command.
    signal: int | None
    #: When the rank ended, by the clock of its node.
    at: datetime | None
    #: The worker that failed first, of those that torchrun names: `rank 1 (local_rank: 1), exitcode 1`.
    worker: str | None
    #: The last lines of the log that say why, 20 at most, without torchrun's own; empty without a log.
    lines: list[str]


class RunList(Output):
    """The runs of a task, by number."""

    items: list[RunOut]


class RunFactsOut(Output):
    """A live run: its user, its task, and where it can be reached."""

    run_id: str
    task_id: int
    #: Number of the run within its task, from 1.
    number: int
    #: The task's name.
    name: str
    user: str
    #: The task's state.
    state: TaskStateName
    #: The node of rank 0.
    node: str
    #: The address of rank 0; null until every rank is up.
    address: str | None


class RecordingOrderOut(Output):
    """What a rank is told to record."""

    id: int
    #: trace: each operator, by PyTorch's profiler. stacks: the Python stacks of all threads.
    kind: Literal["trace", "stacks"]
    #: When all ranks begin, Unix time in milliseconds.
    starts_ms: int
    seconds: float
    #: Steps of the optimizer, instead of seconds.
    steps: int | None
    #: Whether allocations of memory are recorded.
    memory: bool
    #: The most bytes of the rank's compressed traces together.
    most_bytes: int


class NoticeAnswer(Output):
    """The answer to a rank's supervisor. `notice` null: the rank goes on."""

    notice: NoticeOut | None
    #: What the rank is to record; null: nothing that it does not know.
    recording: RecordingOrderOut | None = None


class Addresses(Output):
    """The addresses of a run's ranks, in rank order; null: not all ranks are up yet."""

    addresses: list[str] | None


class RankReport(Input):
    """What a rank's supervisor reports. Repeating a report is harmless."""

    #: received: the notice has arrived. saving: asks for `seconds` more. saved: a checkpoint exists.
    #: done: the rank has saved and may be ended. state: a short text to keep.
    #: leaving: the cluster ends the rank in `seconds`; 410 says that the run was killed.
    #: machine: the architecture and the glibc of the image that the rank runs in.
    #: network: its RDMA falls back to TCP.
    kind: Literal["received", "saving", "saved", "done", "state", "leaving", "machine", "network"]
    at: Moment
    seconds: Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)] | None = None
    step: Annotated[int, Field(ge=-MAX_NUMBER, le=MAX_NUMBER)] | None = None
    path: Annotated[str, Field(max_length=4096)] | None = None
    #: With `saved`. told: the job reported it. seen: its files have changed at the time `at`.
    source: Literal["told", "seen"] = "told"
    #: With `done`: the report is for all ranks.
    all_ranks: bool = False
    text: Annotated[str, Field(max_length=4096)] | None = None
    #: With `received`: the revision of the notice.
    revision: Annotated[int, Field(ge=0, le=MAX_NUMBER)] | None = None
    #: With `machine`: such as x86_64 and 2.31; without `glibc`: the image has another C library.
    machine: Annotated[str, Field(max_length=20)] | None = None
    glibc: Annotated[str, Field(max_length=20)] | None = None
    #: With `network`: why.
    fallback: Annotated[Fallback, by_word(Fallback, FallbackName)] | None = None
