"""The events that can happen to a task. Each event carries its facts and its time; none reads a clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from hai_scheduler.core.model.ids import Origin, TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Blame, Checkpoint, Fallback, Rank


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An event at a time; the base of all others."""

    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Started(Event):
    """The plan starts a run of the task."""

    nodes: tuple[str, ...]
    priority: Priority
    #: GPU indices by rank; empty is whole nodes (U2).
    gpus: tuple[tuple[int, ...], ...] = ()
    #: The database that decides the run; None where there is only one (the simulator).
    origin: Origin | None = None
    #: The run's number must be greater than this: a restored database may have lost runs with smaller numbers.
    above: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Promised(Event):
    """These nodes are promised to the task: other tasks have been told to leave them (B3)."""

    nodes: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedToSuspend(Event):
    """The plan, or a user, wants the run to leave and the task to be resumed later."""

    reason: Reason
    beneficiary: TaskId | None = None
    #: Whether the task is held afterwards.
    hold: bool = False
    #: The longest grace that the notice gives, if the task's own is longer.
    at_most: timedelta | None = None
    #: Longest grace with extensions (`max_grace`).
    limit: timedelta = timedelta(seconds=1800)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedToStop(Event):
    """The plan, or a user, wants the task to end for good."""

    reason: Reason
    limit: timedelta = timedelta(seconds=1800)


@dataclass(frozen=True, slots=True, kw_only=True)
class Held(Event):
    """The owner holds the task: it is not started (again) until it is released."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Released(Event):
    """The owner releases the task: it may have turns again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RanksSeen(Event):
    """The cluster shows the ranks of the live run; the event has all of them, in rank order."""

    ranks: tuple[Rank, ...]
    #: Whether the task fails if a killed supervisor ends the run now (H4).
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
class Spoilt(Event):
    """The newest checkpoint of the run is none any more: it was torn, cut short or removed."""

    #: The newest one of the run that is left; None: none is.
    checkpoint: Checkpoint | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateKept(Event):
    """The job stores a short text for its later runs."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Done(Event):
    """A rank has saved and may leave; rank None stands for all ranks (`scontrol requeue`)."""

    rank: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpusIdle(Event):
    """All GPUs of a rank are idle since a time, or work again (None)."""

    rank: int
    since: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FellBack(Event):
    """The RDMA of a rank falls back to TCP."""

    rank: int
    why: Fallback


@dataclass(frozen=True, slots=True, kw_only=True)
class Overdue(Event):
    """The deadline of the notice has passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSkipped(Event):
    """The clock jumped ahead `by` a length of time that did not pass: it was set, or the machine slept."""

    by: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class StartFailed(Event):
    """The run could not be started, for a reason that is not the user's, and all its ranks are gone."""

    message: str
    #: Nodes for which this is a strike (H3); empty: no node is known to be the cause.
    nodes: frozenset[str]
    #: Further nodes that the task avoids, for which this is no strike.
    doubtful: frozenset[str] = frozenset()
    #: Whether nothing was wrong but that nodes had no room beside pods from outside of HAI (F5): no start has failed.
    crowded: bool = False
    give_up: bool

    def blame_of(self, node: str) -> Blame:
        """Return whether a node is to blame for the failed start."""
        if node in self.nodes:
            return Blame.NODE
        return Blame.UNKNOWN if node in self.doubtful else Blame.NOBODY
