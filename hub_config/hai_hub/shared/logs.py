"""Logs of the Hub, the service and users' servers: kept small, and shown when something fails."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

#: What the scheduling loop writes, and what answers for the scheduler writes.
LOOP_LOG: Final = "scheduler.log"
API_LOG: Final = "api.log"
#: Bytes from which a log is put away.
LIMIT: Final = 10 * 1024 * 1024
#: Old parts that are kept: `.1` is the youngest.
PARTS: Final = 3
_TAIL_BYTES: Final = 64 * 1024


def rotate(folder: Path, *, limit: int = LIMIT) -> None:
    """Put away every log of the folder that has grown too large.

    The file itself stays, as its writers have it open for appending: its content is copied, then cut. A line that
    is written in between may be lost.
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
            # A full disk must not end the platform; it is tried again.
            continue


def tail(log: Path, lines: int = 15, *, since: int = 0) -> str:
    """The last lines of a log, free of control characters.

    Args:
        log: The file; one that is missing is empty.
        lines: How many.
        since: Byte from which on to read.
    """
    try:
        with log.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES, min(since, size)))
            text = file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""
    return "\n".join("".join(char for char in line if char.isprintable()) for line in text.splitlines()[-lines:])
