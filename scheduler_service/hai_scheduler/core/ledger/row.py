"""A row of the ledger: what a run took on one day. It has no command line and no name of a file."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from hai_scheduler.core.ledger.kinds import WorkKind
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason

#: The name in the ledger of every user who was erased. The Hub gives no user a name with a slash.
ERASED: Final = "/erased"

#: A run that ended by itself and was shorter than this is a short run.
SHORT: Final = timedelta(minutes=15)

_NONE: Final = timedelta(0)


class LedgerOutcome(StrEnum):
    """How a run ended, as reports count it."""

    SUCCEEDED = "succeeded"
    #: The command failed, or reached its time limit.
    FAILED = "failed"
    #: The owner of the task, or an admin, stopped it.
    STOPPED = "stopped"
    #: The run was told to leave, and its task goes on later.
    INTERRUPTED = "interrupted"
    #: The run broke: a node was lost, or its ranks could not be started.
    BROKEN = "broken"


_ENDS: Final = {
    Reason.SUCCEEDED: LedgerOutcome.SUCCEEDED,
    Reason.FAILED: LedgerOutcome.FAILED,
    Reason.TIME_LIMIT: LedgerOutcome.FAILED,
    Reason.USER_STOPPED: LedgerOutcome.STOPPED,
    Reason.OWNER_ARCHIVED: LedgerOutcome.STOPPED,
}


def counted_as(reason: Reason) -> LedgerOutcome:
    """Return as what reports count a run that ended for this reason."""
    if reason.unplanned:
        return LedgerOutcome.BROKEN
    return _ENDS.get(reason, LedgerOutcome.INTERRUPTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerKey:
    """What sums are kept by."""

    user: str
    #: The user's groups at the Hub when the run started, sorted.
    groups: tuple[str, ...]
    node_group: str
    #: The priority that the run held.
    priority: Priority
    kind: WorkKind


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerFacts:
    """What is known of a run when it starts, and stays as it was then."""

    run_id: RunId
    task_id: TaskId
    #: The number of the run among those of its task.
    number: int
    key: LedgerKey
    nodes: int
    #: The GPUs that the run holds, on all its nodes; 0: none, or it is not known how many a node has.
    gpus: int
    #: For a run that shares its nodes with others: GPUs of a whole node. 0: the run has its nodes for itself.
    node_gpus: int = 0
    #: For a development container: the processor cores that it may use for itself, in thousandths.
    millicores: int = 0
    #: How long the task had waited for this run.
    wait: timedelta = _NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """A run on one day in UTC; a run over three days has three rows.

    Times of a row follow each other: first `starting`, then `useful`, `saving` and `lost`. Together they are the time
    from `started_at` to `ended_at`. They are times of the run; what its nodes or GPUs took is as many times more.
    """

    facts: LedgerFacts
    #: From 1.
    part: int
    #: The begin of the part; of the first one: of the run.
    started_at: datetime
    #: The end of the part, not after the next midnight. For a run that goes on: until when it is counted.
    ended_at: datetime
    #: From the start of the run until every rank was up.
    starting: timedelta = _NONE
    #: While every rank was up. What turns out to be lost when the run ends, is lost in the earlier parts as well.
    useful: timedelta = _NONE
    #: From the notice to the end, if that was not lost.
    saving: timedelta = _NONE
    #: Time whose work was lost, because it came after the last checkpoint of a run that is resumed.
    lost: timedelta = _NONE
    #: GPU time in which GPUs did nothing, over all GPUs of the run; 0 until it is known.
    idle: timedelta = _NONE
    #: Energy of the GPUs, in joules; None: not known.
    energy_j: int | None = None
    #: How the run ended and why, in all its parts; None while it goes on.
    outcome: LedgerOutcome | None = None
    reason: Reason | None = None
    #: Whether this is the last part of a run that has ended.
    last: bool = False
    #: Set in the last part: whether the run ended by itself in less than `SHORT`.
    short: bool = False
    #: Set in the last part, if the task ended by itself with this run: its slowdown in millionths.
    slowdown: int | None = None

    @property
    def length(self) -> timedelta:
        """The time that the part takes."""
        return self.ended_at - self.started_at
