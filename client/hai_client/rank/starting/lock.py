"""The lock that shows whether a supervisor lives, and the mark that shows that a rank has begun."""
# ruff: noqa: PTH118
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import contextlib
import fcntl
import os

from hai_client.rank.shared.safefile import put_aside

#: An empty file: its presence alone says that the command of the rank was about to start, so it cannot be torn.
BEGUN = "begun"


def take(folder: str) -> int | None:
    """Take the lock of a rank's folder and write this process's pid into it.

    The lock is held until this process has ended, and every child that it has forked without executing a program.

    Returns:
        A file descriptor to keep, or None if a supervisor lives. Raises OSError.
    """
    fd = open_lock(folder)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    os.ftruncate(fd, 0)
    os.pwrite(fd, str(os.getpid()).encode(), 0)
    return fd


def open_lock(folder: str) -> int:
    """Open the file to lock, and return its descriptor. A folder in its place is put aside. Raises OSError."""
    path = os.path.join(folder, "lock")
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o600)
    except IsADirectoryError:
        put_aside(path)
        return os.open(path, flags, 0o600)


def has_begun(folder: str) -> bool:
    """Return whether the rank was started, or recorded as one that never starts: it must not be started again."""
    return any(os.path.lexists(os.path.join(folder, name)) for name in ("status.json", BEGUN))


def mark_begun(folder: str) -> None:
    """Leave the mark, once and for good, and wait until the disk has it, so that it outlives a power cut.

    Raises:
        FileExistsError: The mark is there already: the command may have been started.
        OSError: The mark cannot be made.
    """
    os.close(os.open(os.path.join(folder, BEGUN), os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # Some file systems cannot fsync folders.
        with contextlib.suppress(OSError):
            os.fsync(fd)
    finally:
        os.close(fd)
