"""Reads a rank's log by logical offset from the parts that `hai_client.rank` rotates.

Offsets are bytes since the first line; they stay valid when the oldest parts are removed. In a folder that is shared
with a user's pods there can be any file, so only plain files that are named like parts are read.
"""

from __future__ import annotations

import bisect
import os
import re
import stat
from pathlib import Path

from hai_scheduler.ports.logs import LogChunk, whole_lines

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
        data = whole_lines(data, limit)
    reached = start + len(data)
    return LogChunk(start=start, next=reached, data=data, final=final and reached >= end, end=max(end, reached))


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


def _size(path: Path) -> int:
    """Return the size of a plain file in bytes; 0 for anything else, or if it does not exist."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


def _path(folder: Path, part: int) -> Path:
    return folder / f"{part:020d}.log"
