"""Recordings: a user's order to write down what the ranks of a running task do, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from hai_scheduler.core.model.ids import RunId, TaskId

#: Time between the order and the beginning of a trace. Until then each process has asked for orders, which it does
#: once a second, and has got ready; so all ranks begin at the same moment.
LEAD: Final = timedelta(seconds=4)
#: The length of a trace unless the user names one, and the longest one.
SECONDS: Final = 5.0
MOST_SECONDS: Final = 60.0
MOST_STEPS: Final = 1000
#: How long the steps of a trace may take together.
STEPS_WITHIN: Final = timedelta(seconds=120)
#: How long after the end of a trace a rank may still write and send it.
SENT_WITHIN: Final = timedelta(seconds=120)
#: How long a rank may take to read stacks.
STACKS_WITHIN: Final = timedelta(seconds=40)
#: Ranks that are recorded unless the user names some, and the most that can be named.
RANKS: Final = 16
MOST_RANKS: Final = 64
#: Processes of one rank that are recorded.
MOST_PROCESSES: Final = 16
#: The traces of one rank and of one recording, in compressed bytes.
MOST_RANK_BYTES: Final = 64 * 1024 * 1024
MOST_BYTES: Final = 256 * 1024 * 1024


class RecordingKind(StrEnum):
    """What is written down."""

    #: Each operator, by PyTorch's profiler.
    TRACE = "trace"
    #: The Python stacks of all threads at one moment.
    STACKS = "stacks"


class PartState(StrEnum):
    """How far one rank has come."""

    ORDERED = "ordered"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessTrace:
    """The trace of one process, as its rank has sent it."""

    number: int
    pid: int
    #: The program with its arguments, shortened.
    name: str
    #: Compressed bytes.
    size: int
    #: What was read from it (`core.profiling.summary`), as JSON; None: it was not read yet.
    summary: str | None = None
    #: Why it cannot be read.
    fault: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessStack:
    """The stacks of one process."""

    pid: int
    name: str
    #: Which program has read them: `py-spy`, `faulthandler`, or none.
    how: str | None
    #: What the kernel says of the process.
    kernel: str
    #: The stacks; empty if none could be read.
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingPart:
    """What one rank was told to record, and what it has sent."""

    rank: int
    node: str
    state: PartState = PartState.ORDERED
    message: str | None = None
    traces: tuple[ProcessTrace, ...] = ()
    stacks: tuple[ProcessStack, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One recording. Its number is given by the store."""

    id: int = 0
    task_id: TaskId
    run_id: RunId
    #: The owner of the task, and who has ordered it.
    user: str
    by: str
    kind: RecordingKind
    at: datetime
    starts_at: datetime
    seconds: float
    #: Steps of the optimizer instead of seconds.
    steps: int | None = None
    memory: bool = False
    parts: tuple[RecordingPart, ...]

    @property
    def ends_by(self) -> datetime:
        """When every rank must have answered."""
        if self.kind is RecordingKind.STACKS:
            return self.starts_at + STACKS_WITHIN
        length = timedelta(seconds=self.seconds) if self.steps is None else STEPS_WITHIN
        return self.starts_at + length + SENT_WITHIN

    @property
    def rank_bytes(self) -> int:
        """The most bytes that the traces of one rank may have together."""
        return min(MOST_RANK_BYTES, MOST_BYTES // max(1, len(self.parts)))

    @property
    def over(self) -> bool:
        """Whether no rank has to answer any more."""
        return all(part.state is not PartState.ORDERED for part in self.parts)

    @property
    def size(self) -> int:
        """The compressed bytes of all its traces."""
        return sum(trace.size for part in self.parts for trace in part.traces)

    def part(self, rank: int) -> RecordingPart | None:
        """What a rank has; None: it is not recorded."""
        return next((part for part in self.parts if part.rank == rank), None)

    def with_part(self, changed: RecordingPart) -> Recording:
        """The recording with the part of a rank changed."""
        return replace(self, parts=tuple(changed if part.rank == changed.rank else part for part in self.parts))

    def at_time(self, now: datetime) -> Recording:
        """The recording as it stands: a rank that has not answered in time never will."""
        if self.over or now <= self.ends_by:
            return self
        silent = "it has not answered in time; the log of the rank may say more"
        return replace(
            self,
            parts=tuple(
                replace(part, state=PartState.FAILED, message=silent) if part.state is PartState.ORDERED else part
                for part in self.parts
            ),
        )


def chosen_ranks(count: int, named: Sequence[int] | None) -> tuple[int, ...]:
    """The ranks that are recorded of a run of `count` ranks: those that are named, else some, spread over all."""
    if named is not None:
        return tuple(sorted(set(named)))
    if count <= RANKS:
        return tuple(range(count))
    return tuple(sorted({number * count // RANKS for number in range(RANKS)}))


def beyond(kept: Sequence[tuple[int, int]], *, most: int, most_bytes: int) -> list[int]:
    """The recordings that make room for one more.

    Args:
        kept: The user's recordings with their sizes in bytes, the oldest first.
        most: How many a user may keep.
        most_bytes: How many bytes of traces a user may keep; the new one may have up to `MOST_BYTES` of them.

    Returns:
        Their numbers, the oldest first.
    """
    count, size, gone = len(kept), sum(size for _, size in kept), []
    for number, own in kept:
        if count < most and size + min(MOST_BYTES, most_bytes) <= most_bytes:
            break
        gone.append(number)
        count, size = count - 1, size - own
    return gone
