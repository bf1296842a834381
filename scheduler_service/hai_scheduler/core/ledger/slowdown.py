"""How much longer a task took because it had to wait."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from hai_scheduler.core.ledger.row import LedgerOutcome, counted_as
from hai_scheduler.core.model.task import Task

#: A task that ran shorter than this counts as if it had run so long: else the shortest tasks would be all that is seen.
SHORTEST: Final = timedelta(seconds=10)
#: Slowdowns are kept as integers, in millionths: sums of sums are exact.
MILLIONTHS: Final = 1_000_000
_US: Final = timedelta(microseconds=1)


def slowdown_of(task: Task) -> int | None:
    """Return the bounded slowdown of a task that has ended, in millionths; None if it tells nothing.

    It is the time from the submission to the end, divided by the time that the task ran over all its turns, and at
    least 1. A task that ran shorter than `SHORTEST` counts as if it had run so long (Feitelson and Rudolph, 1998).
    Only tasks that ended by themselves count: how long the others would have run, nobody knows.
    """
    if not task.state.ended or task.ended_at is None or task.reason is None:
        return None
    if counted_as(task.reason) not in (LedgerOutcome.SUCCEEDED, LedgerOutcome.FAILED):
        return None
    took = task.ended_at - task.submitted_at
    # As numbers: a million times as long as some years is more than a timedelta holds.
    return max(MILLIONTHS, MILLIONTHS * (took // _US) // (max(task.served, SHORTEST) // _US))
