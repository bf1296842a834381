"""What can happen to a task. Each carries its facts; none reads a clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from hai_scheduler.core.model.ids import Origin, TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Blame, Checkpoint, Rank


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something happened at a time."""

    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Started(Event):
    """The plan gives the task its turn."""

    nodes: tuple[str, ...]
    priority: Priority
    #: GPU indices by rank; empty is whole nodes (U2).
    gpus: tuple[tuple[int, ...], ...] = ()
    #: Who decides it; None where nobody else ever does (the simulator).
    origin: Origin | None = None
    #: The run's number is greater than this: smaller ones may have been used in a past that the database has lost.
    above: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Promised(Event):
    """Others have been told to leave for the task: these nodes are kept for it (B3)."""

    nodes: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedToSuspend(Event):
    """The plan, or a user, wants the run to leave and the task to be resumed later."""

    reason: Reason
    beneficiary: TaskId | None = None
    #: The task waits for its owner afterwards.
    hold: bool = False
    #: Longest grace, however long the task's own is.
    at_most: timedelta | None = None
    #: Longest grace with extensions (`max_grace`).
    limit: timedelta = timedelta(seconds=1800)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedToStop(Event):
    """The task is to end for good."""

    reason: Reason
    limit: timedelta = timedelta(seconds=1800)


@dataclass(frozen=True, slots=True, kw_only=True)
class Held(Event):
    """Its owner does not want it to be started (again) for now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Released(Event):
    """Its owner wants it to have turns again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RanksSeen(Event):
    """The cluster shows the ranks of the live run, all of them, in rank order."""

    ranks: tuple[Rank, ...]
    #: Whether the task is given up if it is a killed supervisor that ends the run now (H4).
    give_up: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeReceived(Event):
    """The notice has reached a rank."""

    rank: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving(Event):
    """The job asks for more time to save."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved(Event):
    """A checkpoint exists."""

    checkpoint: Checkpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class StateKept(Event):
    """The job keeps a short text over its runs."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Done(Event):
    """A rank has saved and may go; rank None speaks for all of them (`scontrol requeue`)."""

    rank: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Overdue(Event):
    """The deadline of the notice has passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSkipped(Event):
    """Times have become later by so much though none of it has passed: the clock was set, or the machine slept."""

    by: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class StartFailed(Event):
    """The run could not be started, for a reason that is not the user's, and nothing of it is left."""

    message: str
    #: Nodes that it is held against (H3); none: it is nothing that a node is known to have to do with.
    nodes: frozenset[str]
    #: Further nodes that the task is not tried on again, though nothing is held against them.
    doubtful: frozenset[str] = frozenset()
    give_up: bool

    def blame_of(self, node: str) -> Blame:
        """What a node had to do with it."""
        if node in self.nodes:
            return Blame.NODE
        return Blame.UNKNOWN if node in self.doubtful else Blame.NOBODY
