"""Reads the processes of this machine from /proc, and sends them signals."""
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
        # The name in parentheses may hold any character, so fields are counted after the last parenthesis.
        fields = stat[stat.rindex(b")") + 2 :].split()
        self.pid = pid
        self.zombie = fields[0] in (b"Z", b"X")
        self.stopped = fields[0] in (b"T", b"t")
        self.parent = int(fields[1])
        #: CPU time of the process and of the children that it has waited for.
        self.cpu_ticks = sum(int(field) for field in fields[11:15])
        self.start = int(fields[19])
        self.rss_pages = int(fields[21])


def prctl(option: int, value: int) -> None:
    """Set an option of this process with the kernel's call of that name. Raises OSError."""
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def become_subreaper() -> None:
    """Let orphaned descendants become children of this process. Raises OSError."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def end_with_parent(number: int, parent: int) -> None:
    """Let the kernel send this process a signal when its parent ends. Raises OSError.

    Args:
        number: The signal.
        parent: The pid of the parent; this process exits if that has ended already, before the kernel could know.
    """
    prctl(PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os._exit(1)


def open_handle(pid: int) -> int:
    """A file descriptor (pidfd) that becomes readable when the process ends. Raises OSError."""
    # `os.pidfd_open` is younger than Python 3.8.
    fd: int = _libc.syscall(_PIDFD_OPEN, pid, 0)
    if fd < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return fd


def read_process(pid: int) -> Process | None:
    """Return the process with this pid, or None if there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            return Process(pid, file.read())
    except (OSError, ValueError):
        return None


def boot_id() -> str:
    """Return what tells this start of the machine from others. Raises OSError."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def fingerprint(pid: int) -> str | None:
    """Return a text that tells a process from later ones with its pid, also after a restart of the machine.

    Returns:
        None if there is no such process, or if it has ended and its parent has not collected it yet.
    """
    process = read_process(pid)
    return None if process is None or process.zombie else f"{boot_id()}:{process.start}"


def read_table() -> dict[int, Process]:
    """Return every process by pid."""
    table = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            process = read_process(int(name))
            if process is not None:
                table[process.pid] = process
    return table


def children_of(table: Mapping[int, Process]) -> dict[int, list[int]]:
    """Return the pids of children by the pid of their parent."""
    children: dict[int, list[int]] = {}
    for process in table.values():
        children.setdefault(process.parent, []).append(process.pid)
    return children


def descendants(table: Mapping[int, Process], roots: Iterable[int]) -> list[int]:
    """Return the pids below the roots, parents first, without the roots."""
    children = children_of(table)
    found: list[int] = []
    level = list(roots)
    while level:
        level = [child for pid in level for child in children.get(pid, ())]
        found += level
    return found


def read_environment(pid: int) -> dict[bytes, bytes]:
    """Return the environment that a process was started with; empty if it cannot be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
            data = file.read()
    except OSError:
        return {}
    pairs = (entry.partition(b"=") for entry in data.split(b"\0"))
    return {name: value for name, equals, value in pairs if equals}


def read_arguments(pid: int) -> list[str]:
    """Return the command line of a process; empty if it cannot be read."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb", buffering=0) as file:
            # A fork server's keeper has a shorter command line, filled up with zero bytes.
            line = file.read().rstrip(b"\0")
    except OSError:
        return []
    return [os.fsdecode(word) for word in line.split(b"\0")] if line else []


def read_program(pid: int) -> str:
    """Return the base name of the program that a process executes; empty if it cannot be read."""
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return ""


def read_end(pid: int) -> int | None:
    """Return the wait status (`os.wait`) of a zombie process; None if it cannot be known."""
    try:
        # The kernel shows other users 0, whatever the status is.
        if os.stat(f"/proc/{pid}").st_uid != os.geteuid():  # noqa: PTH116
            return None
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            stat = file.read()
        fields = stat[stat.rindex(b")") + 2 :].split()
        return int(fields[49]) if fields[0] == b"Z" else None
    except (OSError, ValueError, IndexError):
        return None


def send(pid: int, number: int) -> bool:
    """Send a signal; return whether the process exists."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        # The process exists, but runs as another user (set-user-id) and cannot get the signal.
        return True
    return True


def signal_below(root: int, number: int) -> int:
    """Send a signal to every descendant of a process; returns how many there were, zombies left out."""
    table = read_table()
    alive = [pid for pid in descendants(table, (root,)) if not table[pid].zombie]
    for pid in alive:
        send(pid, number)
        if number == signal.SIGTERM:
            # A stopped process would not get the signal.
            send(pid, signal.SIGCONT)
    return len(alive)
