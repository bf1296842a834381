"""Start processes that end with `hai up`, find the platform's processes, and end them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_SUPERVISOR: Final = "hai_client.rank"
_SERVERS_PREFIX: Final = b"JUPYTERHUB_SERVICE_PREFIX=/user/"


def start(
    command: list[str],
    *,
    cwd: Path,
    environ: Mapping[str, str],
    log: Path,
    farewell: signal.Signals = signal.SIGTERM,
) -> subprocess.Popen[bytes]:
    """Start a process in a session of its own; the kernel signals it when this process ends.

    SIGINT and SIGTERM have their default action in the new process, even if this one was started with SIGINT ignored.

    Args:
        command: Program and arguments.
        cwd: Working folder of the process.
        environ: Whole environment of the process.
        log: File that the output is appended to.
        farewell: Signal that the process gets when this one ends, even by SIGKILL.
    """
    libc = ctypes.CDLL(None)
    parent = os.getpid()

    def prepare() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if hasattr(libc, "prctl"):
            libc.prctl(_PR_SET_PDEATHSIG, farewell, 0, 0, 0)
            if os.getppid() != parent:
                os._exit(1)

    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        return subprocess.Popen(
            command,
            cwd=cwd,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=descriptor,
            start_new_session=True,
            preexec_fn=prepare,  # safe: this process has one thread
        )
    finally:
        os.close(descriptor)


def adopt_orphans() -> None:
    """Become the subreaper: the new parent of every process below this one whose own parent ends."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "prctl"):
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def fingerprint(pid: int) -> str | None:
    """Return a text that identifies a process even if its pid is used again; None if there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else f"{pid}:{boot}:{fields[19]}"


def pid_of(known: str | None) -> int | None:
    """Return the pid of the process with this fingerprint; None if it no longer runs."""
    if known is None or not (pid := known.partition(":")[0]).isdigit():
        return None
    return int(pid) if fingerprint(int(pid)) == known else None


def _parents() -> dict[int, tuple[int, str]]:
    """Return parent and state of every process, by pid."""
    found: dict[int, tuple[int, str]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            fields = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            found[int(entry.name)] = (int(fields[1]), fields[0])
    return found


def descendants(of: int, *, without: Iterable[int] = ()) -> list[int]:
    """Return the running processes below `of`, except those in `without` and all processes below these."""
    parents = _parents()
    below: dict[int, list[int]] = {}
    for pid, (parent, _) in parents.items():
        below.setdefault(parent, []).append(pid)
    left_out = set(without)
    found: list[int] = []
    open_ = [of]
    while open_:
        children = [pid for pid in below.get(open_.pop(), []) if pid not in left_out]
        found += [pid for pid in children if parents[pid][1] not in "ZX"]
        open_ += children
    return found


def reap(*, without: Iterable[int]) -> None:
    """Collect adopted children that have ended, so that they do not stay as zombies."""
    own, kept = os.getpid(), set(without)
    for pid, (parent, state) in _parents().items():
        if parent == own and state == "Z" and pid not in kept:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def supervisors(runs: Path) -> list[int]:
    """Return the pids of the supervisors of all ranks whose folder is below `runs`."""
    prefix = f"{runs}{os.sep}"
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if _SUPERVISOR in words and any(word.startswith(prefix) for word in words):
                found.append(int(entry.name))
    return found


def servers(mark: str, *, without: Iterable[int] = ()) -> list[int]:
    """Return the pids of users' JupyterLab servers of one platform, and of their kernels, whatever their parents are.

    Args:
        mark: Start of an environment variable that only this platform's servers have (`HubSettings.server_mark`).
        without: Processes that are left out, with all processes below them.
    """
    left_out = set(without)
    for pid in tuple(left_out):
        left_out.update(descendants(pid))
    prefix = mark.encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            names = (entry / "environ").read_bytes().split(b"\0")
            own = any(name.startswith(prefix) for name in names)
            if own and any(name.startswith(_SERVERS_PREFIX) for name in names) and int(entry.name) not in left_out:
                found.append(int(entry.name))
    return found


def end_all(list_them: Callable[[], list[int]], *, patience_s: float, tick: Callable[[], None]) -> int:
    """End processes: SIGTERM first, and SIGKILL for those that are left after `patience_s`.

    Args:
        list_them: Returns the pids that are left; called repeatedly.
        patience_s: Seconds between the two signals; 0: SIGKILL at once.
        tick: Called between two checks.

    Returns:
        The number of processes that got a signal.
    """
    told: set[int] = set()
    deadline = time.monotonic() + patience_s
    while left := list_them():
        late = time.monotonic() >= deadline
        if late and time.monotonic() > deadline + patience_s + 5:
            break
        for pid in left:
            if late or pid not in told:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL if late else signal.SIGTERM)
                told.add(pid)
        tick()
        time.sleep(0.05)
    return len(told)
