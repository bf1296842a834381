"""Recordings of running tasks, as frozen dataclasses.

Written by `make reference` from the models of the service: change those, not this. Times are aware
datetimes; lengths of time are seconds in fields that end in `_s`; states, priorities, kinds and reasons are the plain
words of the wire.
"""

from __future__ import annotations

from datetime import datetime

from hai_client.backports import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Phases:
    """Where the time of a step goes, in seconds; together they are the step."""

    #: Waiting for the next batch.
    data: float
    forward: float
    backward: float
    optimizer: float
    #: Communication with other ranks while nothing is computed.
    communication: float
    #: Nothing of the above.
    idle: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """One operator, or kernel of a GPU, in all of a trace."""

    name: str
    calls: int
    #: Its time without that of operators inside it, seconds.
    self_s: float
    #: The part of it in the time of all operators, 0 to 1.
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSummary:
    """What the trace of one process says."""

    #: The process's number in `torch.distributed`, and how many there are; None: the trace does not say.
    process_rank: int | None = None
    world: int | None = None
    #: Where most was computed. One of cpu, gpu.
    device: str
    #: The length of the trace, seconds.
    seconds: float
    #: Whole steps in it; 0: no step of an optimizer was seen, and the phases are those of the whole trace.
    steps: int
    #: The mean length of a step, seconds.
    step_s: float
    phases: Phases
    #: The part of the time in which kernels ran on a GPU, 0 to 1; None: none was seen.
    gpu_busy: float | None = None
    operators: tuple[Operator, ...]
    #: What a reader should know of these numbers.
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessTrace:
    """The trace of one process. `GET .../ranks/{rank}/traces/{number}` has it."""

    number: int
    pid: int
    #: The program with its arguments, shortened.
    name: str
    #: Compressed bytes.
    size: int
    #: Null until all ranks have ended, and where the trace cannot be summed up.
    summary: TraceSummary | None = None
    #: Why it cannot be summed up.
    fault: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """The Python stacks of one process."""

    pid: int
    name: str
    #: Which program has read them; None: none could. One of py-spy, faulthandler.
    how: str | None = None
    #: What the kernel says of the process.
    kernel: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingPart:
    """What one rank was told to record, and what it has sent."""

    rank: int
    node: str
    #: One of ordered, done, failed.
    state: str
    message: str | None = None
    traces: tuple[ProcessTrace, ...]
    stacks: tuple[Stack, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slowest:
    """The process that the others wait for."""

    rank: int
    trace: int
    #: What it does itself in each step, without waiting for others, seconds.
    own_s: float
    #: The same of the process in the middle of the others.
    median_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingSummary:
    """What all traces of a recording say together."""

    processes: int
    step_s: float
    #: The mean over all processes.
    phases: Phases
    operators: tuple[Operator, ...]
    #: Null: there is one process, or all are equally fast.
    slowest: Slowest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A recording of a task."""

    id: int
    task: int
    #: The number of the run that was recorded.
    run: int
    #: One of trace, stacks.
    kind: str
    #: recording: ranks still have to answer. done: at least one rank has recorded something. failed: none has.
    state: str
    #: Who has ordered it.
    by: str
    at: datetime
    #: When the ranks begin, and by when they must have answered.
    starts_at: datetime
    ends_by: datetime
    seconds: float
    steps: int | None = None
    memory: bool
    #: Compressed bytes of all traces.
    size: int
    parts: tuple[RecordingPart, ...]
    #: Null until it is done, and for stacks.
    summary: RecordingSummary | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingList:
    """The recordings of a task, the newest first."""

    items: tuple[Recording, ...]
