"""Keep the logs of the Hub, the scheduler service and users' servers small, and read their last lines."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

#: File names of the logs of the scheduling loop and of the API.
LOOP_LOG: Final = "scheduler.log"
API_LOG: Final = "api.log"
#: Bytes above which a log is rotated.
LIMIT: Final = 10 * 1024 * 1024
#: Old parts that are kept; `.1` is the newest.
PARTS: Final = 3
_TAIL_BYTES: Final = 64 * 1024


def rotate(folder: Path, *, limit: int = LIMIT) -> None:
    """Rotate every log of the folder that is larger than `limit` bytes.

    The file itself stays, because its writers have it open for appending: its content is copied, then the file is
    truncated. A line that is written between the two may be lost.
    """
    for log in folder.glob("*.log"):
        try:
            if log.stat().st_size <= limit:
                continue
            for number in range(PARTS - 1, 0, -1):
                older = log.with_name(f"{log.name}.{number}")
                if older.exists():
                    older.replace(log.with_name(f"{log.name}.{number + 1}"))
            shutil.copy(log, log.with_name(f"{log.name}.1"))
            os.truncate(log, 0)
        except OSError:
            # A full disk must not end the platform; the next call tries again.
            continue


def tail(log: Path, lines: int = 15, *, since: int = 0) -> str:
    """Return the last lines of a log, without control characters.

    Args:
        log: The file; a missing file counts as empty.
        lines: Most lines to return.
        since: Byte offset at which to begin; earlier content is left out.
    """
    try:
        with log.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES, min(since, size)))
            text = file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""
    return "\n".join("".join(char for char in line if char.isprintable()) for line in text.splitlines()[-lines:])
