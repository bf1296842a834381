"""How far a job has come: what it has worked, and what of that is kept."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from hai_scheduler.sim.scenario import Job

_ZERO = timedelta(0)


@dataclass(slots=True)
class Body:
    """The changing part of a job.

    A job works from when all its ranks are up until it is told to leave: the time that it then takes to save is
    not work. A run that does not save as it leaves loses what it has worked since its latest save.
    """

    job: Job
    #: Work that is kept, of all its turns.
    kept: timedelta = _ZERO
    #: Since when all ranks of this turn are up; None: they are not.
    up: datetime | None = None
    #: Since when work of this turn is not kept: since it is up, or its latest save.
    unsaved: datetime | None = None
    #: When it stopped working because it was told to leave.
    stopped: datetime | None = None
    #: Whether it was told to leave, and can only be ended: it works on until it has saved.
    let_save: bool = False
    #: Whether it is on its way out.
    leaving: bool = False
    #: What was planned under another number is void.
    ticket: int = 0
    #: Whether its command has failed, as it does once.
    failed: bool = False

    def begin(self) -> None:
        """A turn begins; nothing of it is up yet."""
        self.ticket += 1
        self.up = self.unsaved = self.stopped = None
        self.leaving = self.let_save = False

    def rise(self, now: datetime) -> None:
        """All its ranks are up."""
        self.up = self.unsaved = now

    def worked(self, now: datetime) -> timedelta:
        """What it has worked over all turns, kept or not."""
        return self.kept if self.unsaved is None else self.kept + ((self.stopped or now) - self.unsaved)

    def left(self, now: datetime) -> timedelta | None:
        """How much it still has to work; None is for ever."""
        return None if self.job.work is None else max(_ZERO, self.job.work - self.worked(now))

    def save(self, now: datetime) -> None:
        """All that it has worked until now is kept."""
        if self.unsaved is not None:
            self.kept, self.unsaved = self.worked(now), now

    def leave(self, now: datetime) -> None:
        """It was told to leave, and saves: it does not work any more."""
        self.ticket += 1
        self.leaving = True
        if self.up is not None:
            self.stopped = now

    def end(self, now: datetime, *, saved: bool) -> datetime | None:
        """The turn is over, `saved` or not. Returns up to when its work counts, None if it never worked."""
        until = self.unsaved
        if saved and until is not None:
            until = self.stopped or now
            self.kept = self.worked(now)
        self.begin()
        return until

    def next_end(self, now: datetime) -> tuple[datetime, int] | None:
        """When its command ends by itself if nothing comes between, and with which status; None is never."""
        left, breaks = self.left(now), self.job.fails_after
        if breaks is not None and not self.failed and (self.job.work is None or breaks <= self.job.work):
            return now + max(_ZERO, breaks - self.worked(now)), 1
        return None if left is None else (now + left, 0)
