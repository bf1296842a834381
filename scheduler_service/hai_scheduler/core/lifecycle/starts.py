"""Starts that come to nothing: what is said of them, and when the next one is tried.

They fail for reasons that are not the user's, or the supervisor of a rank is killed soon after (H4).
"""

from __future__ import annotations

from datetime import datetime, timedelta

from hai_scheduler.core.model.reasons import Reason, sentence_of
from hai_scheduler.core.model.task import Task

#: How long a task waits after a start that failed; twice as long after each further one in a row ...
FIRST_WAIT = timedelta(seconds=15)
#: ... and this at most.
LONGEST_WAIT = timedelta(minutes=5)
#: A run that was up for so long was a start that worked: a supervisor that is killed then begins a new row.
PROVEN_AFTER = timedelta(hours=1)


def wait_after(failed: int) -> timedelta:
    """How long a task waits after so many starts in a row that failed, 1 or more."""
    return min(LONGEST_WAIT, FIRST_WAIT * (1 << min(failed - 1, 20)))


def why_not_started(task: Task) -> str | None:
    """Why the task's latest run could not be started, in words with the remedy; None if that is not what befell it."""
    if task.run is None or task.reason is not Reason.START_FAILED:
        return None
    ranks = sorted(task.run.ranks, key=lambda rank: rank.unstarted is None)
    return next((rank.message for rank in ranks if rank.message), sentence_of(Reason.START_FAILED))


def row_with(task: Task, killed_at: datetime) -> int:
    """How many starts in a row will have come to nothing if a killed supervisor ends the task's run at that time (H4).

    A run that was up for long does not count with those before it: what is killed now and then is no storm.
    """
    up_at = None if task.run is None else task.run.running_at
    return 1 if up_at is not None and killed_at - up_at >= PROVEN_AFTER else task.failed_starts + 1


def why_broken(task: Task) -> str | None:
    """What befell the task's latest run, whose supervisor was killed (H4); None if that is not what ended it."""
    if task.run is None or task.reason is not Reason.SUPERVISOR_KILLED:
        return None
    killed = [rank for rank in task.run.ranks if rank.supervisor_killed]
    return next((f"the supervisor of rank {r.rank} on {r.node} was killed" for r in killed), sentence_of(task.reason))
