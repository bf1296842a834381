"""Starts that come to nothing: their messages, and when the next start is tried.

Such a start fails for a reason that is not the user's, or the supervisor of a rank is killed soon after it (H4).
"""

from __future__ import annotations

from datetime import datetime, timedelta

from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import Task

#: How long a task waits after a start that failed; twice as long after each further one in a row ...
FIRST_WAIT = timedelta(seconds=15)
#: ... and this at most.
LONGEST_WAIT = timedelta(minutes=5)
#: How long a task waits whose start met pods from outside of HAI (F5): it is to start elsewhere, and soon.
CROWDED_WAIT = timedelta(seconds=5)
#: A run that was up for this long counts as a start that worked: a supervisor that is killed then begins a new row.
PROVEN_AFTER = timedelta(hours=1)


def wait_after(failed: int) -> timedelta:
    """Return how long a task waits after `failed` starts in a row (1 or more) that came to nothing."""
    return doubled(FIRST_WAIT, failed - 1, most=LONGEST_WAIT)


def doubled(first: timedelta, times: int, *, most: timedelta) -> timedelta:
    """Return `first`, doubled `times` times, but never more than `most`."""
    # It is bounded before it is multiplied as well: a timedelta cannot hold every length times 2 ** 20.
    return min(most, min(most, first) * (1 << min(times, 20)))


def why_not_started(task: Task) -> str | None:
    """Return why the task's latest run could not be started, with the remedy; None if it ended for another reason."""
    if task.run is None or task.reason is not Reason.START_FAILED:
        return None
    ranks = sorted(task.run.ranks, key=lambda rank: rank.unstarted is None)
    return next((rank.message for rank in ranks if rank.message), "it could not be started on its nodes")


def row_with(task: Task, killed_at: datetime) -> int:
    """Return how many starts in a row came to nothing if a killed supervisor ends the task's run at `killed_at` (H4).

    A run that was up for `PROVEN_AFTER` begins a new row: supervisors that are killed now and then are no series.
    """
    up_at = None if task.run is None else task.run.running_at
    return 1 if up_at is not None and killed_at - up_at >= PROVEN_AFTER else task.failed_starts + 1


def why_broken(task: Task) -> str | None:
    """Return which supervisor of the task's latest run was killed (H4); None if the run ended for another reason."""
    if task.run is None or task.reason is not Reason.SUPERVISOR_KILLED:
        return None
    killed = [rank for rank in task.run.ranks if rank.supervisor_killed]
    words = (f"the supervisor of rank {r.rank} on {r.node} was killed" for r in killed)
    return next(words, "the supervisor of a rank was killed on a node that was well")
