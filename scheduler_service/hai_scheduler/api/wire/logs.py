"""Lines of logs, and what is found in them."""

from __future__ import annotations

from datetime import datetime

from hai_scheduler.api.wire.base import (
    Output,
)


class LogLine(Output):
    """One line of a log. Lines of the platform itself (`rank` None) mark starts and ends of runs."""

    run: int
    rank: int | None
    #: When the line was written.
    at: datetime | None
    text: str


class LogPage(Output):
    """Lines of one rank over the runs of a task, in order, as one story."""

    lines: list[LogLine]
    #: Hand it on, unchanged, to read further: `<run>:<offset>`, or `<run>:start` before a run's first line.
    next_cursor: str
    #: Nothing will ever be added.
    final: bool


class LogHits(Output):
    """How often a text occurs, by run and rank, and the first lines that hold it."""

    counts: list[LogCount]
    lines: list[LogLine]
    #: False: the log is so long that only a part was searched.
    complete: bool = True


class LogCount(Output):
    """Hits in one rank of one run."""

    run: int
    rank: int
    hits: int


class LogTaken(Output):
    """A piece of a rank's log is kept."""

    #: Where the log goes on: bytes since the first line.
    next: int
