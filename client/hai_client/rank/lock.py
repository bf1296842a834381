"""The lock that says whether a supervisor lives, and the mark that says that a rank has begun."""
# ruff: noqa: PTH118
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import contextlib
import fcntl
import os

from hai_client.rank.safefile import put_aside

#: Its presence alone says that the command of the rank was about to start: it cannot be half there.
BEGUN = "begun"


def take(folder: str) -> int | None:
    """Take the lock of a rank's folder and write this process's pid into it.

    It is held until this process has ended and every child that it has forked without executing a program.

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
    """The file to lock. A folder in its place, which nobody can have locked, is put aside. Raises OSError."""
    path = os.path.join(folder, "lock")
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o600)
    except IsADirectoryError:
        put_aside(path)
        return os.open(path, flags, 0o600)


def has_begun(folder: str) -> bool:
    """Whether the rank was started, or was recorded as one that never will be: it is not started again."""
    return any(os.path.lexists(os.path.join(folder, name)) for name in ("status.json", BEGUN))


def mark_begun(folder: str) -> None:
    """Leave the mark, once and for good: it outlives a power cut that nothing else in the folder outlives.

    Raises:
        FileExistsError: It is there already: the command may have been started.
        OSError: It cannot be left.
    """
    os.close(os.open(os.path.join(folder, BEGUN), os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # Some file systems cannot do that for folders.
        with contextlib.suppress(OSError):
            os.fsync(fd)
    finally:
        os.close(fd)
