"""Reading a rank's log by logical offset over the parts that `hai_client.rank` rotates."""

from __future__ import annotations

import bisect
from pathlib import Path

from hai_scheduler.ports import LogChunk


def read_log(folder: Path, *, offset: int, limit: int, final: bool) -> LogChunk:
    """Read whole lines from `offset`; of one that is longer than the limit, a piece.

    Args:
        folder: Where the parts are; it need not exist yet.
        offset: Bytes since the first line.
        limit: About how many bytes at most.
        final: Whether the log was complete before this call.
    """
    starts = sorted(int(part.stem) for part in folder.glob("*.log"))
    if not starts:
        return LogChunk(start=0, next=0, data=b"", final=final)
    end = starts[-1] + _size(folder, starts[-1])
    start = min(max(offset, starts[0]), end)
    data = _read(folder, starts, start, max(1, limit))
    if not (final and start + len(data) >= end):
        data = _whole_lines(data, limit)
    return LogChunk(start=start, next=start + len(data), data=data, final=final and start + len(data) >= end)


def _read(folder: Path, starts: list[int], start: int, limit: int) -> bytes:
    pieces: list[bytes] = []
    left = limit
    for part in starts[bisect.bisect_right(starts, start) - 1 :]:
        try:
            with _path(folder, part).open("rb") as file:
                file.seek(max(0, start - part))
                piece = file.read(left)
        except FileNotFoundError:
            # Rotated away just now; the next call starts after the gap.
            break
        pieces.append(piece)
        left -= len(piece)
        if left <= 0:
            break
    return b"".join(pieces)


def _whole_lines(data: bytes, limit: int) -> bytes:
    end = data.rfind(b"\n") + 1
    if end == 0 and len(data) >= limit:
        return data
    return data[:end]


def _size(folder: Path, part: int) -> int:
    try:
        return _path(folder, part).stat().st_size
    except FileNotFoundError:
        return 0


def _path(folder: Path, part: int) -> Path:
    return folder / f"{part:020d}.log"
