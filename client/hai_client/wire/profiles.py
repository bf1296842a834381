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

    data: float  #: Waiting for the next batch.
    forward: float
    backward: float
    optimizer: float
    communication: float  #: Communication with other ranks while nothing is computed.
    idle: float  #: Nothing of the above.


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """One operator, or kernel of a GPU, in all of a trace."""

    name: str
    calls: int
    self_s: float  #: Its time without that of operators inside it, seconds.
    share: float  #: The part of it in the time of all operators, 0 to 1.


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSummary:
    """What the trace of one process says."""

    #: The process's number in `torch.distributed`, and how many there are; None: the trace does not say.
    process_rank: int | None = None
    world: int | None = None
    device: str  #: Where most was computed. One of cpu, gpu.
    seconds: float  #: The length of the trace, seconds.
    steps: int  #: Whole steps in it; 0: no step of an optimizer was seen, and the phases are those of the whole trace.
    step_s: float  #: The mean length of a step, seconds.
    phases: Phases
    gpu_busy: float | None = None  #: The part of the time in which kernels ran on a GPU, 0 to 1; None: none was seen.
    operators: tuple[Operator, ...]
    notes: tuple[str, ...]  #: What a reader should know of these numbers.


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessTrace:
    """The trace of one process. `GET .../ranks/{rank}/traces/{number}` has it."""

    number: int
    pid: int
    name: str  #: The program with its arguments, shortened.
    size: int  #: Compressed bytes.
    summary: TraceSummary | None = None  #: Null until all ranks have ended, and where the trace cannot be summed up.
    fault: str | None = None  #: Why it cannot be summed up.


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """The Python stacks of one process."""

    pid: int
    name: str
    how: str | None = None  #: Which program has read them; None: none could. One of py-spy, faulthandler.
    kernel: str  #: What the kernel says of the process.
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingPart:
    """What one rank was told to record, and what it has sent."""

    rank: int
    node: str
    state: str  #: One of ordered, done, failed.
    message: str | None = None
    traces: tuple[ProcessTrace, ...]
    stacks: tuple[Stack, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slowest:
    """The process that the others wait for."""

    rank: int
    trace: int
    own_s: float  #: What it does itself in each step, without waiting for others, seconds.
    median_s: float  #: The same of the process in the middle of the others.


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingSummary:
    """What all traces of a recording say together."""

    processes: int
    step_s: float
    phases: Phases  #: The mean over all processes.
    operators: tuple[Operator, ...]
    slowest: Slowest | None = None  #: Null: there is one process, or all are equally fast.


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A recording of a task."""

    id: int
    task: int
    run: int  #: The number of the run that was recorded.
    kind: str  #: One of trace, stacks.
    #: recording: ranks still have to answer. done: at least one rank has recorded something. failed: none has.
    state: str
    by: str  #: Who has ordered it.
    at: datetime
    starts_at: datetime  #: When the ranks begin, and by when they must have answered.
    ends_by: datetime
    seconds: float
    steps: int | None = None
    memory: bool
    size: int  #: Compressed bytes of all traces.
    parts: tuple[RecordingPart, ...]
    summary: RecordingSummary | None = None  #: Null until it is done, and for stacks.


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingList:
    """The recordings of a task, the newest first."""

    items: tuple[Recording, ...]
