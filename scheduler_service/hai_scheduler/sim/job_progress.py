"""The progress of a job: how long it has worked, and how much of its work is saved."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from hai_scheduler.sim.scenario import SimulatedJob

_ZERO = timedelta(0)


@dataclass(slots=True)
class JobProgress:
    """The progress of a job, which changes in the simulation.

    A job works from when all its ranks are up until it is told to leave; the time that it then takes to save is not
    work. A run that does not save when it leaves loses the work since its latest save.
    """

    job: SimulatedJob
    #: Work of all turns that is saved.
    kept: timedelta = _ZERO
    #: Since when all ranks of this turn have been up; None: they are not.
    up: datetime | None = None
    #: Since when work of this turn is not saved: since all ranks were up, or since the latest save.
    unsaved: datetime | None = None
    #: When the job stopped its work because it was told to leave.
    stopped: datetime | None = None
    #: How often it has saved by itself in this turn.
    saves: int = 0
    #: Whether a job that cannot hear a notice was told to leave: it works on until it has saved, and is then ended.
    let_save: bool = False
    #: Whether the job is leaving.
    leaving: bool = False
    #: A number that changes with each turn and notice: events that carry another number are void.
    ticket: int = 0
    #: Whether the command has failed; it fails at most once.
    failed: bool = False

    def begin(self) -> None:
        """Begin a turn, of which no rank is up yet."""
        self.ticket += 1
        self.up = self.unsaved = self.stopped = None
        self.leaving = self.let_save = False
        self.saves = 0

    def rise(self, now: datetime) -> None:
        """Note that all ranks are up."""
        self.up = self.unsaved = now

    def worked(self, now: datetime) -> timedelta:
        """Return the work of all turns, saved or not."""
        return self.kept if self.unsaved is None else self.kept + ((self.stopped or now) - self.unsaved)

    def left(self, now: datetime) -> timedelta | None:
        """Return how much work is left; None: the job never ends."""
        return None if self.job.work is None else max(_ZERO, self.job.work - self.worked(now))

    def save(self, now: datetime) -> None:
        """Save all work until now."""
        if self.unsaved is not None:
            self.kept, self.unsaved = self.worked(now), now
            self.saves += 1

    def leave(self, now: datetime) -> None:
        """Note that the job was told to leave: it saves, and does not work any more."""
        self.ticket += 1
        self.leaving = True
        if self.up is not None:
            self.stopped = now

    def end(self, now: datetime, *, saved: bool) -> datetime | None:
        """End the turn. Returns the time up to which its work counts; None if it never worked.

        Args:
            now: The virtual time.
            saved: Whether the job saved before it left.
        """
        until = self.unsaved
        if saved and until is not None:
            until = self.stopped or now
            self.kept = self.worked(now)
        self.begin()
        return until

    def next_end(self, now: datetime) -> tuple[datetime, int] | None:
        """Return when the command ends by itself without a notice, and its exit status; None: never."""
        left, breaks = self.left(now), self.job.fails_after
        if breaks is not None and not self.failed and (self.job.work is None or breaks <= self.job.work):
            return now + max(_ZERO, breaks - self.worked(now)), 1
        return None if left is None else (now + left, 0)
