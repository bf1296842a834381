"""The decisions of a plan, as values, and the plan itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.verdicts import Verdicts


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Start a run of the task on these nodes (in rank order), at this effective priority."""

    task_id: TaskId
    nodes: tuple[str, ...]
    priority: Priority
    #: GPU indices by rank; empty is whole nodes (U2).
    gpus: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspend:
    """Tell the task's run to leave; the task waits for its next turn afterwards."""

    task_id: TaskId
    reason: Reason
    beneficiary: TaskId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """Promise these nodes to a waiting task; the runs on them have been told to leave (B3)."""

    task_id: TaskId
    nodes: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Tell the task's run to leave, and end the task for good."""

    task_id: TaskId
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantine:
    """Give the node no new runs: too many runs failed on it for reasons that were not their users' (H3)."""

    node: str
    #: The tasks whose runs failed there.
    tasks: tuple[TaskId, ...]


Decision = Start | Suspend | Keep | Stop | Quarantine


def _never() -> datetime | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The decisions that follow from a snapshot, and a verdict for each task that goes on waiting."""

    decisions: tuple[Decision, ...]
    #: The verdict of each waiting task that does not start.
    verdicts: Verdicts
    #: How many tasks, nodes and victims the planner examined: a measure of its work without a clock.
    work: int = 0
    later: Callable[[], datetime | None] = field(default=_never, compare=False, repr=False)
    stays: Callable[[], datetime | None] = field(default=_never, compare=False, repr=False)

    @property
    def look_again(self) -> datetime | None:
        """The time at which the plan may change although nothing happens; None: never. Computed when it is read."""
        return self.later()

    @property
    def good_until(self) -> datetime | None:
        """The time until which a plan of the same snapshot has the same decisions; None: always. Computed when read.

        Never later than `look_again`, which leaves out that decayed use changes the order of users (O3).
        """
        return self.stays()
