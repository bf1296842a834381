"""What is computed outside of the service's own process, and who does it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.policy import Policies
from hai_scheduler.core.model.task import Task
from hai_scheduler.ports.logs import LogPlace

#: How far ahead one looks unless one says otherwise, and at most.
HORIZON: Final = timedelta(days=7)
MOST_HORIZON: Final = timedelta(days=90)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much one forecast may cost."""

    horizon: timedelta = HORIZON
    #: Plans that are made at most.
    plans: int = 5000
    #: Seconds of the processor.
    seconds: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastOrder:
    """Run the planner forward for a task. The answer is a Forecast."""

    task: Task
    now: datetime
    bounds: Bounds
    #: The task is only thought of: it is given the next id.
    hypothetical: bool
    #: The groups of its user, where they may be newer than what the store knows.
    groups: frozenset[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfOrder:
    """Find what would let a task start. The answer is a tuple of WhatIf."""

    task: Task
    now: datetime
    most_plans: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentOrder:
    """Read an experiment file. The answer is a Submission or Faults."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that is wrong with an experiment file; see `errors.Invalid`."""

    field: str
    value: str | int | bool | None
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """All that is wrong with an experiment file."""

    faults: tuple[Fault, ...]


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
    #: Bytes that are read at most, seconds that it takes at most, lines that are shown at most.
    most_bytes: int
    most_seconds: float
    most_lines: int


Order = ForecastOrder | WhatIfOrder | ExperimentOrder | SearchOrder


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the store does not have of a snapshot: the nodes of the latest tick, and the numbers it was planned with."""

    nodes: tuple[Node, ...]
    policies: Policies


class Workers(Protocol):
    """Who carries out orders, so that neither ticks nor requests wait for them."""

    async def do(self, user: str, order: Order, facts: Facts | None = None) -> Any:
        """Carry out the order when its user's turn has come; cancelled, it ends at once.

        Args:
            user: For whom.
            order: What is to be done.
            facts: For forecasts and what-ifs.

        Raises:
            TooMany: The user has too many orders waiting.
            Unavailable: It cannot be done now, or is more than one order may cost.
        """
        ...

    async def close(self) -> None:
        """End whatever is under way."""
        ...
