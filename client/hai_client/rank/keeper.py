"""The keeper, the process around a supervisor: when either of the two dies, no process of the rank is left (B4).

Orphans of a rank become children of its supervisor, or after its death children of the keeper, which kills them. When
the keeper dies, the kernel signals the supervisor, which kills them in the same way. Both hold the lock on the rank's
folder: the rank counts as supervised until both are gone.

A pod needs no keeper: all processes of a container die with its first process.
"""
# ruff: noqa: PTH100
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import os
import signal
import sys

from hai_client.linux.process_killer import kill_all
from hai_client.linux.processes import PR_SET_PDEATHSIG, become_subreaper, prctl, send
from hai_client.rank.starting import lock

#: Signals that the keeper blocks and waits for: the end of the supervisor, and requests to end, which it passes on.
HEARD = frozenset({signal.SIGCHLD, signal.SIGTERM, signal.SIGINT})


def main(arguments: list[str]) -> int:
    """Supervise the rank that a folder describes. This function returns in two processes: supervisor and keeper.

    The exit status of this process is not that of the rank.

    Returns:
        0, also when another supervisor has the folder; 1 when nothing could be recorded; 2 for wrong arguments;
        128 and the number of the signal that killed the supervisor.
    """
    if len(arguments) != 1:
        print("usage: python -m hai_client.rank FOLDER", file=sys.stderr)
        return 2
    folder = os.path.abspath(arguments[0])
    # Blocked signals stay pending until sigwait.
    signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    if lock.take(folder) is None or lock.has_begun(folder):
        # Another process supervises the rank, or did so: a rank is never started twice.
        return 0
    become_subreaper()
    keeper = os.getpid()
    # Before the supervisor's imports: the keeper stays small.
    supervisor = os.fork()
    return _supervise(folder, keeper) if supervisor == 0 else _keep(supervisor, folder)


def _supervise(folder: str, keeper: int) -> int:
    # A process group of its own, so that a signal to the keeper's group does not end both.
    os.setpgid(0, 0)
    # This signal reaches a stopped process as well.
    prctl(PR_SET_PDEATHSIG, signal.SIGCONT)
    from hai_client.rank.supervisor import main

    return main(folder, keeper, HEARD)


def _keep(supervisor: int, folder: str) -> int:
    status = _wait(supervisor)
    kill_all()
    if os.WIFSIGNALED(status):
        from hai_client.rank.starting.secrets import folder_of, remove_folder

        remove_folder(folder_of(folder))
        number = os.WTERMSIG(status)
        print(f"hai_client.rank: the supervisor was killed by signal {number}; the rank was ended", file=sys.stderr)
        return 128 + number
    return os.WEXITSTATUS(status)


def _wait(supervisor: int) -> int:
    """Pass signals on until the supervisor ends, and return its wait status.

    A stopped supervisor is continued at once, because its job would hang.
    """
    while True:
        number = signal.sigwait(HEARD)
        if number != signal.SIGCHLD:
            send(supervisor, number)
            # A stopped process would not get the signal.
            send(supervisor, signal.SIGCONT)
            continue
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            if pid == 0:
                break
            if pid == supervisor and not os.WIFSTOPPED(status):
                return status
            if pid == supervisor:
                send(supervisor, signal.SIGCONT)
