"""Starts that fail for reasons that are not the user's: what is said of them, and when the next one is tried."""

from __future__ import annotations

from datetime import timedelta

from hai_scheduler.core.model import Task
from hai_scheduler.core.reasons import Reason, sentence_of

#: How long a task waits after a start that failed; twice as long after each further one in a row ...
FIRST_WAIT = timedelta(seconds=15)
#: ... and this at most.
LONGEST_WAIT = timedelta(minutes=5)


def wait_after(failed: int) -> timedelta:
    """How long a task waits after so many starts in a row that failed, 1 or more."""
    return min(LONGEST_WAIT, FIRST_WAIT * (1 << min(failed - 1, 20)))


def why_not_started(task: Task) -> str | None:
    """Why the task's latest run could not be started, in words with the remedy; None if that is not what befell it."""
    if task.run is None or task.reason is not Reason.START_FAILED:
        return None
    ranks = sorted(task.run.ranks, key=lambda rank: rank.unstarted is None)
    return next((rank.message for rank in ranks if rank.message), sentence_of(Reason.START_FAILED))
