"""Models of recordings of running tasks: what users order and get, and what ranks send."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from hai_scheduler.api.wire.base import Input, Output
from hai_scheduler.core.profiling.recordings import MOST_PROCESSES, MOST_RANKS, MOST_SECONDS, MOST_STEPS, RecordingKind
from hai_scheduler.service.shared.sent_as import by_word


class RecordingSubmit(Input):
    """What to record of a running task."""

    #: trace: each operator, by PyTorch's profiler. stacks: the Python stacks of all threads at this moment.
    kind: Annotated[RecordingKind, by_word(RecordingKind, Literal["trace", "stacks"])] = RecordingKind.TRACE
    #: The length of a trace; null: 5 seconds, unless `steps` is given.
    seconds: Annotated[float, Field(ge=0.1, le=MOST_SECONDS, allow_inf_nan=False)] | None = None
    #: The length of a trace in steps of the optimizer.
    steps: Annotated[int, Field(ge=1, le=MOST_STEPS)] | None = None
    #: The ranks; null: all of them, or 16 that are spread over a larger gang.
    ranks: (
        Annotated[list[Annotated[int, Field(ge=0, le=100_000)]], Field(min_length=1, max_length=MOST_RANKS)] | None
    ) = None
    #: Whether allocations of memory are part of the trace.
    memory: bool = False


class PhasesOut(Output):
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


class OperatorOut(Output):
    """One operator, or kernel of a GPU, in all of a trace."""

    name: str
    calls: int
    #: Its time without that of operators inside it, seconds.
    self_s: float
    #: The part of it in the time of all operators, 0 to 1.
    share: float


class TraceSummaryOut(Output):
    """What the trace of one process says."""

    #: The process's number in `torch.distributed`, and how many there are; null: the trace does not say.
    process_rank: int | None
    world: int | None
    #: Where most was computed.
    device: Literal["cpu", "gpu"]
    #: The length of the trace, seconds.
    seconds: float
    #: Whole steps in it; 0: no step of an optimizer was seen, and the phases are those of the whole trace.
    steps: int
    #: The mean length of a step, seconds.
    step_s: float
    phases: PhasesOut
    #: The part of the time in which kernels ran on a GPU, 0 to 1; null: none was seen.
    gpu_busy: float | None
    operators: list[OperatorOut]
    #: What a reader should know of these numbers.
    notes: list[str]


class ProcessTraceOut(Output):
    """The trace of one process. `GET .../ranks/{rank}/traces/{number}` has it."""

    number: int
    pid: int
    #: The program with its arguments, shortened.
    name: str
    #: Compressed bytes.
    size: int
    #: Null until all ranks have ended, and where the trace cannot be summed up.
    summary: TraceSummaryOut | None
    #: Why it cannot be summed up.
    fault: str | None


class StackOut(Output):
    """The Python stacks of one process."""

    pid: int
    name: str
    #: Which program has read them; null: none could.
    how: Literal["py-spy", "faulthandler"] | None
    #: What the kernel says of the process.
    kernel: str
    text: str


class RecordingPartOut(Output):
    """What one rank was told to record, and what it has sent."""

    rank: int
    node: str
    state: Literal["ordered", "done", "failed"]
    message: str | None
    traces: list[ProcessTraceOut]
    stacks: list[StackOut]


class SlowestOut(Output):
    """The process that the others wait for."""

    rank: int
    trace: int
    #: What it does itself in each step, without waiting for others, seconds.
    own_s: float
    #: The same of the process in the middle of the others.
    median_s: float


class RecordingSummaryOut(Output):
    """What all traces of a recording say together."""

    processes: int
    step_s: float
    #: The mean over all processes.
    phases: PhasesOut
    operators: list[OperatorOut]
    #: Null: there is one process, or all are equally fast.
    slowest: SlowestOut | None


class RecordingOut(Output):
    """A recording of a task."""

    id: int
    task: int
    #: The number of the run that was recorded.
    run: int
    kind: Literal["trace", "stacks"]
    #: recording: ranks still have to answer. done: at least one rank has recorded something. failed: none has.
    state: Literal["recording", "done", "failed"]
    #: Who has ordered it.
    by: str
    at: datetime
    #: When the ranks begin, and by when they must have answered.
    starts_at: datetime
    ends_by: datetime
    seconds: float
    steps: int | None
    memory: bool
    #: Compressed bytes of all traces.
    size: int
    parts: list[RecordingPartOut]
    #: Null until it is done, and for stacks.
    summary: RecordingSummaryOut | None


class RecordingList(Output):
    """The recordings of a task, the newest first."""

    items: list[RecordingOut]


class RanksQuery(Input):
    """Which ranks of a recording."""

    #: Ranks, separated by commas (default: all that were recorded).
    ranks: Annotated[str, Field(max_length=1000, pattern=r"^[0-9]{1,6}(,[0-9]{1,6})*$")] | None = None


class TracePieceQuery(Input):
    """The place of a piece in a trace."""

    #: Bytes since the beginning of the compressed trace.
    offset: Annotated[int, Field(ge=0, le=2**40)]


class TracePieceTaken(Output):
    """The answer to a piece of a trace."""

    #: Where the next piece begins.
    next: int


class SentTraceIn(Input):
    """A trace that a rank has sent."""

    number: Annotated[int, Field(ge=0, lt=MOST_PROCESSES)]
    pid: Annotated[int, Field(ge=0, le=2**31)]
    name: Annotated[str, Field(max_length=200)]


class SentStackIn(Input):
    """The stacks of a process that a rank has read."""

    pid: Annotated[int, Field(ge=0, le=2**31)]
    name: Annotated[str, Field(max_length=200)]
    how: Literal["py-spy", "faulthandler"] | None
    kernel: Annotated[str, Field(max_length=2000)]
    text: Annotated[str, Field(max_length=65_536)]


class RecordedIn(Input):
    """The end of a rank's recording. Repeating it is harmless."""

    state: Literal["done", "failed"]
    message: Annotated[str, Field(max_length=1000)] | None = None
    traces: Annotated[list[SentTraceIn], Field(max_length=MOST_PROCESSES)] = []
    stacks: Annotated[list[SentStackIn], Field(max_length=4 * MOST_PROCESSES)] = []
