"""The lock that says whether a supervisor lives."""
# ruff: noqa: PTH118
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import fcntl
import os


def take(folder: str) -> int | None:
    """Take the lock of a rank's folder and write this process's pid into it.

    It is held until the process ends, and inherited by nobody.

    Returns:
        A file descriptor to keep, or None if a supervisor lives. Raises OSError.
    """
    fd = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    os.ftruncate(fd, 0)
    os.pwrite(fd, str(os.getpid()).encode(), 0)
    return fd
