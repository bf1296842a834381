"""How far the job of a task has come, as it reports it, and how long it will still take."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

#: The pace is measured over this span at least, and over at most twice `WITHIN`: newer steps count alone then.
MEASURED: Final = timedelta(seconds=5)
WITHIN: Final = timedelta(minutes=30)
#: A longer time is not told.
LONGEST: Final = timedelta(days=3650)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepProgress:
    """The newest report of a task."""

    #: The number of the run, and the rank that counts: the lowest one that reports.
    run: int
    rank: int
    #: Steps that are done, over all runs.
    step: int
    #: After how many steps the job is done; None: it did not say.
    total: int | None
    at: datetime
    #: From where the pace is measured.
    begin_step: int
    begin_at: datetime
    #: Seconds of running for a step; None: not known yet. A later run begins with that of the run before.
    pace_s: float | None = None

    def left(self, now: datetime, *, running_since: datetime | None) -> timedelta | None:
        """How long the job still has to run, at this pace; None: not known, or it is done.

        Args:
            now: The present time.
            running_since: Since when its run has been running, perhaps after the report; None: it does not run.
        """
        if self.total is None or self.pace_s is None or self.step >= self.total:
            return None
        seconds = (self.total - self.step) * self.pace_s
        if seconds > LONGEST.total_seconds():
            return None
        # Since the report it has run on; what it waited before it was resumed does not count.
        passed = timedelta(0) if running_since is None else max(timedelta(0), now - max(self.at, running_since))
        return max(timedelta(0), timedelta(seconds=seconds) - passed)


def advanced(
    before: StepProgress | None, *, run: int, rank: int, step: int, total: int | None, at: datetime
) -> StepProgress | None:
    """The progress of a task after a report; None: the report changes nothing.

    A run before the one that has reported last counts no more, and of several ranks the lowest counts. Steps that go
    back, as after a restart from an older checkpoint, are no pace.
    """
    fresh = StepProgress(run=run, rank=rank, step=step, total=total, at=at, begin_step=step, begin_at=at)
    if before is None:
        return fresh
    fresh = replace(fresh, pace_s=before.pace_s)
    if run != before.run or rank < before.rank:
        return fresh if (run, -rank) > (before.run, -before.rank) else None
    if rank > before.rank or at <= before.at:
        return None
    if step < before.step:
        return fresh
    now = replace(before, step=step, total=total, at=at)
    took, done = at - before.begin_at, step - before.begin_step
    if not done or took < MEASURED:
        return now
    pace = took.total_seconds() / done
    if took > 2 * WITHIN:
        return replace(
            now, pace_s=pace, begin_at=at - WITHIN, begin_step=max(0, step - round(WITHIN.total_seconds() / pace))
        )
    return replace(now, pace_s=pace)
