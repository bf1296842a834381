"""Orders for computations outside of the service's own process, and the port to the workers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.node import Node, NodeMark
from hai_scheduler.core.model.policy import Policies
from hai_scheduler.core.model.task import Task
from hai_scheduler.ports.logs import LogPlace

#: How far ahead a forecast looks by default, and at most.
HORIZON: Final = timedelta(days=7)
MOST_HORIZON: Final = timedelta(days=90)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The limits of one forecast."""

    horizon: timedelta = HORIZON
    #: The most plans that are made.
    plans: int = 5000
    #: The most processor time, in seconds.
    seconds: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastOrder:
    """Run the planner forward for a task. The answer is a Forecast."""

    task: Task
    now: datetime
    bounds: Bounds
    #: True if the task is not submitted: it then gets the next id.
    hypothetical: bool
    #: The groups of its user, where the request knows newer ones than the store; None: those in the store.
    groups: frozenset[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfOrder:
    """Find changes that would let a task start. The answer is a tuple of WhatIf."""

    task: Task
    now: datetime
    most_plans: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentOrder:
    """Read an experiment file. The answer is a Submission or Faults."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentFault:
    """One thing that is wrong with an experiment file; see `errors.Invalid`."""

    field: str
    value: str | int | bool | None
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentFaults:
    """All faults of an experiment file."""

    faults: tuple[ExperimentFault, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLog:
    """The logs of one run."""

    run: int
    run_id: RunId
    ranks: int
    place: LogPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOrder:
    """Look for a text in logs. The answer is Hits."""

    text: str
    logs: tuple[RunLog, ...]
    #: The most bytes that are read, seconds that the search takes, and lines that are returned.
    most_bytes: int
    most_seconds: float
    most_lines: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceOrder:
    """Sum up a trace of a recording. The answer is a TraceRead."""

    recording: int
    rank: int
    trace: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRead:
    """What a trace says, as JSON, or why it cannot be read."""

    summary: str | None = None
    fault: str | None = None
    #: Processor time that reading took, in seconds.
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeOrder:
    """Make a trace a part of the trace of all processes. The answer is a TraceMerged."""

    recording: int
    rank: int
    trace: int
    #: What it is called there, and the number that its ids begin with.
    label: str
    prefix: int
    #: Checksum and length of the text before it, and what its times count from.
    crc: int
    size: int
    base: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceMerged:
    """A part of the trace of all processes, with the same numbers behind it; or why it cannot be one."""

    #: Compressed, in base64.
    data: str = ""
    crc: int = 0
    size: int = 0
    base: int | None = None
    fault: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewOrder:
    """Find out what a mark on nodes would do. The answer is a MarkPreview."""

    nodes: tuple[str, ...]
    mark: NodeMark
    now: datetime
    bounds: Bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialOrder:
    """Simulate the tasks of the last days with the policy numbers in force and with others. The answer is a Trial.

    While it is computed, its progress is told as numbers from 0 to 1.
    """

    policies: Policies
    since: datetime
    now: datetime
    #: The most tasks, and the most processor time of each of the two simulations, in seconds.
    most_tasks: int
    most_seconds: float


Order = (
    ForecastOrder | WhatIfOrder | ExperimentOrder | SearchOrder | TraceOrder | MergeOrder | PreviewOrder | TrialOrder
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotFacts:
    """The parts of a snapshot that the store does not have: the nodes and the policies of the latest tick."""

    nodes: tuple[Node, ...]
    policies: Policies


#: Takes what a computation says of its progress: a number from 0 to 1.
Told = Callable[[float], None]


class ComputePool(Protocol):
    """Carries out orders outside of the event loop, so that neither ticks nor requests wait for them."""

    async def do(self, user: str, order: Order, facts: SnapshotFacts | None = None, told: Told | None = None) -> Any:
        """Carry out the order when its user's turn has come; returns its answer. A cancelled order ends at once.

        Args:
            user: The user who asked.
            order: The order.
            facts: Nodes and policies, for all that plans.
            told: Called with what the computation says of its progress.

        Raises:
            TooMany: The user has too many orders waiting.
            Unavailable: The order cannot be carried out now.
            TooCostly: The order needs more time or memory than one request may use.
        """
        ...

    async def close(self) -> None:
        """End all orders."""
        ...
