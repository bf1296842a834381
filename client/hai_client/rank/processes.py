"""Processes of this machine, read from /proc, and what the kernel is asked to do with them."""
# ruff: noqa: PTH119, PTH123, PTH208
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import ctypes
import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
#: The number of the system call, the same on every architecture.
_PIDFD_OPEN = 434

_libc = ctypes.CDLL(None, use_errno=True)


class Process:
    """One process. `start` (clock ticks since boot) tells it from a later one with the same pid."""

    __slots__ = ("cpu_ticks", "parent", "pid", "rss_pages", "start", "stopped", "zombie")

    def __init__(self, pid: int, stat: bytes) -> None:
        # The name in parentheses may hold anything, so fields are counted after the last one.
        fields = stat[stat.rindex(b")") + 2 :].split()
        self.pid = pid
        self.zombie = fields[0] in (b"Z", b"X")
        self.stopped = fields[0] in (b"T", b"t")
        self.parent = int(fields[1])
        #: Own time and that of children which it has waited for.
        self.cpu_ticks = sum(int(field) for field in fields[11:15])
        self.start = int(fields[19])
        self.rss_pages = int(fields[21])


def prctl(option: int, value: int) -> None:
    """Ask the kernel for something about this process. Raises OSError."""
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def become_subreaper() -> None:
    """Let orphaned descendants become children of this process. Raises OSError."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def open_handle(pid: int) -> int:
    """A file descriptor (pidfd) that becomes readable when the process ends. Raises OSError."""
    # `os.pidfd_open` is younger than Python 3.8.
    fd: int = _libc.syscall(_PIDFD_OPEN, pid, 0)
    if fd < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return fd


def read_process(pid: int) -> Process | None:
    """The process, or None if there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            return Process(pid, file.read())
    except (OSError, ValueError):
        return None


def read_table() -> dict[int, Process]:
    """Every process by pid."""
    table = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            process = read_process(int(name))
            if process is not None:
                table[process.pid] = process
    return table


def children_of(table: Mapping[int, Process]) -> dict[int, list[int]]:
    """Pids by the pid of their parent."""
    children: dict[int, list[int]] = {}
    for process in table.values():
        children.setdefault(process.parent, []).append(process.pid)
    return children


def descendants(table: Mapping[int, Process], roots: Iterable[int]) -> list[int]:
    """Pids below the roots, parents first; the roots themselves are left out."""
    children = children_of(table)
    found: list[int] = []
    level = list(roots)
    while level:
        level = [child for pid in level for child in children.get(pid, ())]
        found += level
    return found


def read_environment(pid: int) -> dict[bytes, bytes]:
    """The environment that the process was started with; empty if it cannot be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
            data = file.read()
    except OSError:
        return {}
    pairs = (entry.partition(b"=") for entry in data.split(b"\0"))
    return {name: value for name, equals, value in pairs if equals}


def read_arguments(pid: int) -> list[str]:
    """Its command line; empty if it cannot be read."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb", buffering=0) as file:
            # What has written a shorter line over its own has left nothing behind the last word.
            line = file.read().rstrip(b"\0")
    except OSError:
        return []
    return [os.fsdecode(word) for word in line.split(b"\0")] if line else []


def read_program(pid: int) -> str:
    """The base name of the program that it executes; empty if it cannot be read."""
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return ""


def read_end(pid: int) -> int | None:
    """How a process ended that its parent has not collected yet, as `os.wait` says it; None if that cannot be known."""
    try:
        # To other users the kernel says 0, whatever it was.
        if os.stat(f"/proc/{pid}").st_uid != os.geteuid():  # noqa: PTH116
            return None
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            stat = file.read()
        fields = stat[stat.rindex(b")") + 2 :].split()
        return int(fields[49]) if fields[0] == b"Z" else None
    except (OSError, ValueError, IndexError):
        return None


def send(pid: int, number: int) -> bool:
    """Send a signal; whether there was a process to send it to."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        # It runs as somebody else (set-user-id): it is there, and beyond reach.
        return True
    return True


def signal_below(root: int, number: int) -> int:
    """Send a signal to every descendant of a process; returns how many there were, zombies left out."""
    table = read_table()
    alive = [pid for pid in descendants(table, (root,)) if not table[pid].zombie]
    for pid in alive:
        send(pid, number)
        if number == signal.SIGTERM:
            # A stopped process would not see it.
            send(pid, signal.SIGCONT)
    return len(alive)
