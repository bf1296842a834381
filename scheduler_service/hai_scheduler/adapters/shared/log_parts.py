"""Reads a rank's log by logical offset: from the parts that `hai_client.rank` rotates, or from pieces of it.

Offsets are bytes since the first line; they stay valid when the oldest parts are removed. In a folder that is shared
with a user's pods there can be any file, so only plain files that are named like parts are read.
"""

from __future__ import annotations

import bisect
import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path

from hai_scheduler.ports.logs import LogChunk

_PART = re.compile(r"[0-9]{20}\.log", re.ASCII)
#: No link is followed, and opening a pipe does not wait for its other end.
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def read_log(folder: Path, *, offset: int, limit: int, final: bool) -> LogChunk:
    """Return whole lines from `offset`; of a line that is longer than the limit, a piece.

    Args:
        folder: The folder of the parts; it need not exist yet.
        offset: Bytes since the first line.
        limit: About how many bytes at most.
        final: Whether the log was complete before this call.
    """
    starts = sorted(int(part.stem) for part in folder.glob("*.log") if _PART.fullmatch(part.name))
    if not starts:
        return LogChunk(start=0, next=0, data=b"", final=final)
    end = starts[-1] + _size(_path(folder, starts[-1]))
    start = min(max(offset, starts[0]), end)
    data = _read(folder, starts, start, max(1, limit))
    if not (final and start + len(data) >= end):
        data = _whole_lines(data, limit)
    reached = start + len(data)
    return LogChunk(start=start, next=reached, data=data, final=final and reached >= end, end=max(end, reached))


def join(pieces: Iterable[tuple[int, bytes]], *, offset: int, limit: int, end: int, ended: bool) -> LogChunk:
    """Return whole lines from `offset`; of a line that is longer than the limit, a piece.

    Args:
        pieces: The offset and the bytes of each piece that is kept from `offset` on; if they are longer than the limit,
            the first ones are enough.
        offset: Bytes since the first line.
        limit: About how many bytes at most.
        end: The offset of the end of the log.
        ended: Whether the log is complete.
    """
    start, size = min(offset, end), 0
    kept: list[bytes] = []
    for begin, data in pieces:
        if begin + len(data) <= start:
            continue
        if not kept:
            start = max(start, begin)
        elif begin != start + size:
            # It comes after a gap: the next call returns it.
            break
        kept.append(data[start + size - begin : start + limit - begin])
        size += len(kept[-1])
        if size >= limit:
            break
    joined = b"".join(kept)
    if start + len(joined) < end:
        joined = _whole_lines(joined, limit)
    reached = start + len(joined)
    return LogChunk(start=start, next=reached, data=joined, final=ended and reached >= end, end=end)


def _read(folder: Path, starts: list[int], start: int, limit: int) -> bytes:
    pieces: list[bytes] = []
    left = limit
    for part in starts[bisect.bisect_right(starts, start) - 1 :]:
        piece = _read_part(_path(folder, part), max(0, start - part), left)
        if piece is None:
            # Rotated away just now; the next call starts after the gap.
            break
        pieces.append(piece)
        left -= len(piece)
        if left <= 0:
            break
    return b"".join(pieces)


def _read_part(path: Path, offset: int, limit: int) -> bytes | None:
    """Return at most `limit` bytes of a part; None without a plain file. Raises OSError if it cannot be read."""
    try:
        fd = os.open(path, _FLAGS)
    except FileNotFoundError:
        return None
    except OSError:
        if _size(path):
            raise
        return None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        return None
    with os.fdopen(fd, "rb") as file:
        file.seek(offset)
        return file.read(limit)


def _whole_lines(data: bytes, limit: int) -> bytes:
    end = data.rfind(b"\n") + 1
    if end == 0 and len(data) >= limit:
        return data
    return data[:end]


def _size(path: Path) -> int:
    """Return the size of a plain file in bytes; 0 for anything else, or if it does not exist."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


def _path(folder: Path, part: int) -> Path:
    return folder / f"{part:020d}.log"
