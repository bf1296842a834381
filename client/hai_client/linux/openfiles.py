"""Lists files that processes have open for writing, from /proc only, so that it never waits for a file system."""
# ruff: noqa: PERF203, PTH123, PTH208
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

#: Places that hold no checkpoint.
_NOT_FILES = ("/dev/", "/proc/", "/sys/")
_DELETED = " (deleted)"
#: Most descriptors of one process that are looked at.
MAX_FDS = 8192
_WRITING = os.O_WRONLY | os.O_RDWR


def files_for_writing(pids: Iterable[int]) -> dict[str, int]:
    """Return the regular files that some of the processes have open for writing: path to position of the next byte.

    Devices, pipes, sockets, shared memory and deleted files are left out, and processes that may not be read.
    """
    found: dict[str, int] = {}
    for pid in pids:
        try:
            fds = os.listdir(f"/proc/{pid}/fd")[:MAX_FDS]
        except OSError:
            continue
        for fd in fds:
            path = _file(pid, fd)
            if path is not None:
                position = _position(pid, fd)
                if position is not None:
                    found[path] = max(position, found.get(path, 0))
    return found


def pipes(pid: int) -> tuple[set[str], set[str]]:
    """Return the names of the pipes that a process reads from, and of the pipes that it writes to."""
    ends: tuple[set[str], set[str]] = (set(), set())
    try:
        fds = os.listdir(f"/proc/{pid}/fd")[:MAX_FDS]
    except OSError:
        return ends
    for fd in fds:
        try:
            name = os.readlink(f"/proc/{pid}/fd/{fd}")
            if name.startswith("pipe:"):
                # The rights of the link are those that the descriptor was opened with.
                mode = os.lstat(f"/proc/{pid}/fd/{fd}").st_mode
                if mode & stat.S_IRUSR:
                    ends[0].add(name)
                if mode & stat.S_IWUSR:
                    ends[1].add(name)
        except OSError:
            continue
    return ends


def standard_pipes(pid: int) -> tuple[str | None, set[str]]:
    """Return the pipe that is a process's standard input, if any, and the pipes of its standard output and error."""
    names: list[str] = []
    for fd in range(3):
        try:
            names.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except OSError:
            names.append("")
    return (
        names[0] if names[0].startswith("pipe:") else None,
        {name for name in names[1:] if name.startswith("pipe:")},
    )


def _file(pid: int, fd: str) -> str | None:
    try:
        path = os.readlink(f"/proc/{pid}/fd/{fd}")
    except OSError:
        return None
    if not path.startswith("/") or path.startswith(_NOT_FILES) or path.endswith(_DELETED):
        return None
    return path


def _position(pid: int, fd: str) -> int | None:
    """Return the position of the next byte; None for a descriptor that is read only."""
    position = None
    try:
        with open(f"/proc/{pid}/fdinfo/{fd}", "rb", buffering=0) as file:
            for line in file.read().splitlines():
                if line.startswith(b"pos:"):
                    position = int(line[4:])
                elif line.startswith(b"flags:"):
                    return position if int(line[6:], 8) & _WRITING else None
    except (OSError, ValueError):
        return None
    return None
