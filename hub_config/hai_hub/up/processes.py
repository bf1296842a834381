"""Start processes that end with `hai up`, find the platform's processes, and end them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from hai_client.linux.processes import (
    descendants,
    end_with_parent,
    fingerprint,
    read_arguments,
    read_environment,
    read_table,
)

_SUPERVISOR: Final = "hai_client.rank"


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
    parent = os.getpid()

    def prepare() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        end_with_parent(farewell, parent)

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


def identity(pid: int) -> str | None:
    """Return the pid with the fingerprint of its process; None if there is no such process."""
    known = fingerprint(pid)
    return None if known is None else f"{pid}:{known}"


def pid_of(known: str | None) -> int | None:
    """Return the pid of the process with this identity; None if it no longer runs."""
    if known is None or not (pid := known.partition(":")[0]).isdigit():
        return None
    return int(pid) if identity(int(pid)) == known else None


def running_below(of: int, *, without: Iterable[int] = ()) -> list[int]:
    """Return the running processes below `of`, except those in `without` and all processes below these."""
    left_out = set(without)
    table = {pid: process for pid, process in read_table().items() if pid not in left_out}
    return [pid for pid in descendants(table, (of,)) if not table[pid].zombie]


def reap(*, without: Iterable[int]) -> None:
    """Collect adopted children that have ended, so that they do not stay as zombies."""
    own, kept = os.getpid(), set(without)
    for pid, process in read_table().items():
        if process.parent == own and process.zombie and pid not in kept:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def supervisors(runs: Path) -> list[int]:
    """Return the pids of the supervisors of all ranks whose folder is below `runs`."""
    prefix = f"{runs}{os.sep}"
    return [
        pid
        for pid in read_table()
        if _SUPERVISOR in (words := read_arguments(pid)) and any(word.startswith(prefix) for word in words)
    ]


def servers(mark: str, *, without: Iterable[int] = ()) -> list[int]:
    """Return the pids of users' JupyterLab servers of one platform, and of their kernels, whatever their parents are.

    Args:
        mark: Start of an environment variable that only this platform's servers have (`HubSettings.server_mark`).
        without: Processes that are left out, with all processes below them.
    """
    left_out = set(without)
    for pid in tuple(left_out):
        left_out.update(running_below(pid))
    prefix = mark.encode()
    return [pid for pid in read_table() if pid not in left_out and _is_server(read_environment(pid), prefix)]


def _is_server(environ: Mapping[bytes, bytes], mark: bytes) -> bool:
    marked = any((b"%s=%s" % variable).startswith(mark) for variable in environ.items())
    return marked and b"/user/" in environ.get(b"JUPYTERHUB_SERVICE_PREFIX", b"")


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
