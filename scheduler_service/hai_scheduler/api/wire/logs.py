"""Models of lines of logs, and of search results in them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BeforeValidator

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
    #: The position behind the line: the log goes on there (`cursor`), and the line is the last one that ends there
    #: (`before`).
    cursor: Annotated[str, BeforeValidator(str)]
    #: True: a state of a line that is being written again, such as a progress bar. The next line of the rank takes its
    #: place.
    rewritten: bool = False


class LogPage(Output):
    """Lines of one rank over all runs of a task, in order."""

    lines: list[LogLine]
    #: Send it back as `cursor` to read further: `<run>:<offset>`, or `<run>:start` before a run's first line.
    next_cursor: str
    #: Send it back as `before` to read the lines before these; null: there are none.
    prev_cursor: str | None
    #: True: no line will be added any more.
    final: bool


class LogExtent(Output):
    """How much is kept of a rank's log of one run: positions `<run>:<start>` to `<run>:<end>`, in bytes."""

    run: int
    start: int
    end: int


class LogExtents(Output):
    """How much is kept of a rank's log: one entry for each of the latest thousand runs."""

    items: list[LogExtent]


class LogHits(Output):
    """How often a text occurs, by run and rank, and the first lines that contain it."""

    counts: list[LogCount]
    lines: list[LogLine]
    #: False: the log is so long that only a part was searched.
    complete: bool = True


class LogCount(Output):
    """Number of hits in one rank of one run."""

    run: int
    rank: int
    hits: int


class LogTaken(Output):
    """The answer to a piece of a rank's log that was stored."""

    #: Offset of the next piece: bytes since the first line.
    next: int
