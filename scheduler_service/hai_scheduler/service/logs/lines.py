"""The lines of a task's log, and cursors into it.

A cursor says what has been read: `<run>:<bytes of that run's log>`, or `<run>:start` before the line about the run's
start. Users pass cursors on unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

from hai_scheduler.ports.logs import LogChunk
from hai_scheduler.service.shared.errors import Invalid

#: What a state of a line that is being written again ends with (`hai_client.rank.records.logs`).
REWRITTEN = b"\r"
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
    #: A state of a line that is being written again: the next line of the rank takes its place.
    rewritten: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Lines in order. `final` means that no line will be added behind the cursor."""

    lines: Sequence[Line]
    cursor: Cursor
    final: bool
    #: Where the page begins; None: there are no lines before it.
    begins: Cursor | None = None
    #: Forms of the page, such as the bytes that are sent, made once for all readers.
    made: dict[str, bytes] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """How much is kept of a rank's log of one run: from the offset `start` to `end`."""

    run: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits:
    """The result of a search: the number of hits by (run, rank), the first lines, and whether all logs were read."""

    counts: dict[tuple[int, int], int]
    lines: Sequence[Line]
    complete: bool


def lines_of(run: int, rank: int, chunk: LogChunk, most: int, *, live: bool = False) -> list[Line]:
    """The first lines of a chunk; of a line that is written again, its last state. One without a time is unchanged.

    A chunk may be all line breaks: only the lines that are returned are made, as each costs some microseconds.

    Args:
        run: The number of the run.
        rank: The rank.
        chunk: The chunk.
        most: How many lines at most.
        live: Whether the run is live, so that the next line can take the place of the last one.
    """
    return [line_of(run, rank, raw, behind, live=live) for raw, behind in islice(raws_of(chunk), most)]


def last_lines_of(run: int, rank: int, chunks: Sequence[LogChunk], most: int, *, live: bool = False) -> list[Line]:
    """The last lines of chunks that follow one another, as `lines_of` makes them."""
    last = islice((found for chunk in reversed(chunks) for found in _backwards(chunk)), most)
    return [line_of(run, rank, raw, behind, live=live) for raw, behind in reversed(list(last))]


def raws_of(chunk: LogChunk) -> Iterator[tuple[bytes, int]]:
    """The lines of a chunk as bytes, each with the offset of the next one, without states that have passed."""
    data, begin = chunk.data.removesuffix(b"\n"), 0
    while chunk.data and begin <= len(data):
        end = data.find(b"\n", begin)
        end = len(data) if end < 0 else end
        if _counts(chunk, data, begin, end):
            yield data[begin:end], min(chunk.start + end + 1, chunk.next)
        begin = end + 1


def _backwards(chunk: LogChunk) -> Iterator[tuple[bytes, int]]:
    """What `raws_of` yields, the last line first."""
    data = chunk.data.removesuffix(b"\n")
    end = len(data) if chunk.data else -1
    while end >= 0:
        begin = data.rfind(b"\n", 0, end) + 1
        if _counts(chunk, data, begin, end):
            yield data[begin:end], min(chunk.start + end + 1, chunk.next)
        end = begin - 1


def _counts(chunk: LogChunk, data: bytes, begin: int, end: int) -> bool:
    """Whether these bytes are a line, and no state of one that has passed: another line follows such a state."""
    ends_log = end == len(data) and chunk.end <= chunk.next
    return ends_log or not data.endswith(REWRITTEN, begin, end)


def count_lines(chunks: Sequence[LogChunk]) -> int:
    """About how many lines chunks have; states that have passed do not count."""
    return sum(one.data.count(b"\n") - one.data.count(REWRITTEN + b"\n") for one in chunks)


def line_of(run: int, rank: int, raw: bytes, behind: int, *, live: bool = False) -> Line:
    """The line of these bytes, which have no line break; `behind` is the offset of the next line; see `lines_of`."""
    rewritten = live and raw.endswith(REWRITTEN)
    raw = raw.removesuffix(REWRITTEN)
    at, begin = stamp_of(raw)
    text = raw[begin:].decode("utf-8", "replace")
    return Line(run=run, rank=rank, at=at, text=text, cursor=Cursor(run, behind), rewritten=rewritten)


def stamp_of(raw: bytes) -> tuple[datetime | None, int]:
    """The time at the beginning of a stored line, and where its text begins."""
    match = _STAMPED.match(raw)
    if match is None:
        return None, 0
    try:
        return datetime.fromisoformat(match.group(1).decode()), match.end()
    except ValueError:
        return None, 0
