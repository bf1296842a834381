"""The lines of a task's log, and cursors into it.

A cursor says what has been read: `<run>:<bytes of that run's log>`, or `<run>:start` before the line about the run's
start. Users pass cursors on unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from hai_scheduler.ports.logs import LogChunk
from hai_scheduler.service.shared.errors import Invalid

_CURSOR = re.compile(r"([1-9][0-9]{0,8}):(start|[0-9]{1,18})", re.ASCII)
_STAMPED = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z) ?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Cursor:
    """A position in the log, up to which a reader has read; offset None: before the line about the run's start."""

    run: int
    offset: int | None = None

    def __str__(self) -> str:
        return f"{self.run}:{'start' if self.offset is None else self.offset}"

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """Read a cursor. Raises Invalid."""
        match = _CURSOR.fullmatch(text)
        if match is None:
            raise Invalid("cursor", text, "is not a cursor: use `next_cursor` or the id of a line as it was given")
        run, offset = match.groups()
        return cls(int(run), None if offset == "start" else int(offset))


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a task's log; rank None is a line of the platform. `cursor` points behind the line."""

    run: int
    rank: int | None
    at: datetime | None
    text: str
    cursor: Cursor


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Lines in order. `final` means that no line will be added behind the cursor."""

    lines: Sequence[Line]
    cursor: Cursor
    final: bool
    #: Forms of the page, such as the bytes that are sent, made once for all readers.
    made: dict[str, bytes] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits:
    """The result of a search: the number of hits by (run, rank), the first lines, and whether all logs were read."""

    counts: dict[tuple[int, int], int]
    lines: Sequence[Line]
    complete: bool


def lines_of(run: int, rank: int, chunk: LogChunk, most: int) -> list[Line]:
    """The first lines of a chunk, `most` of them at most. A line without a time stamp is kept unchanged.

    A chunk may be all line breaks: only the lines that are returned are made, as each costs some microseconds.
    """
    lines, offset = [], chunk.start
    for raw in chunk.data.removesuffix(b"\n").split(b"\n", most)[:most]:
        offset = min(offset + len(raw) + 1, chunk.next)
        lines.append(line_of(run, rank, raw, offset))
    return lines


def last_lines_of(run: int, rank: int, chunks: Sequence[LogChunk], most: int) -> list[Line]:
    """The last lines of chunks that follow one another, `most` of them at most."""
    found: list[list[Line]] = []
    left = most
    for chunk in reversed(chunks):
        if not left:
            break
        raws = chunk.data.removesuffix(b"\n").rsplit(b"\n", left)
        cut = len(raws[0]) + 1 if len(raws) > left else 0
        found.append(lines_of(run, rank, replace(chunk, start=chunk.start + cut, data=chunk.data[cut:]), left))
        left -= len(found[-1])
    return [line for lines in reversed(found) for line in lines]


def line_of(run: int, rank: int, raw: bytes, behind: int) -> Line:
    """The line of these bytes, which have no line break; `behind` is the offset of the next line."""
    match = _STAMPED.match(raw)
    at = _time(match.group(1)) if match else None
    text = raw[match.end() :] if match and at else raw
    return Line(run=run, rank=rank, at=at, text=text.decode("utf-8", "replace"), cursor=Cursor(run, behind))


def _time(stamp: bytes) -> datetime | None:
    try:
        return datetime.fromisoformat(stamp.decode())
    except ValueError:
        return None
