"""What a plan decides, as values."""

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
    """Give the task these nodes (rank order) for a turn at this effective priority."""

    task_id: TaskId
    nodes: tuple[str, ...]
    priority: Priority
    #: GPU indices by rank; empty is whole nodes (U2).
    gpus: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspend:
    """Tell the task's run to leave; it will have its turn again."""

    task_id: TaskId
    reason: Reason
    beneficiary: TaskId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """Keep these nodes for a waiting task that others are told to leave for (B3)."""

    task_id: TaskId
    nodes: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Tell the task's run to leave for good."""

    task_id: TaskId
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantine:
    """Give the node no new runs: too many have failed there for reasons that were not their users' (H3)."""

    node: str
    #: The tasks whose runs failed there.
    tasks: tuple[TaskId, ...]


Decision = Start | Suspend | Keep | Stop | Quarantine


def _never() -> datetime | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to do now, and why each other waiting task waits."""

    decisions: tuple[Decision, ...]
    #: Of every waiting task that does not start.
    verdicts: Verdicts
    #: How many tasks, nodes and victims were looked at: the plan's own measure of its work.
    work: int = 0
    later: Callable[[], datetime | None] = field(default=_never, compare=False, repr=False)
    stays: Callable[[], datetime | None] = field(default=_never, compare=False, repr=False)

    @property
    def look_again(self) -> datetime | None:
        """When time alone may change the plan, nothing else happening; None is never. Computed when it is asked for."""
        return self.later()

    @property
    def good_until(self) -> datetime | None:
        """Until when a plan of the same snapshot decides nothing else; None is for ever. Computed when it is asked for.

        It is never later than `look_again`, which does not heed that decayed use changes the order of users (O3).
        """
        return self.stays()
