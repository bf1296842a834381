"""Finds and kills the processes of a rank whose supervisor died, until none is left (B4)."""

from __future__ import annotations

import os
import signal
import time

from hai_client.linux.processes import Process, boot_id, descendants, read_environment, read_table, send
from hai_scheduler.adapters.local.folders import RankFolder

_PAUSE_S = 0.01


def kill_leftovers(folder: RankFolder, *, patience_s: float) -> bool:
    """Send SIGKILL to every process of the rank, for at most `patience_s` seconds. Returns whether none is left.

    It must be called only when no supervisor of the rank lives. A process belongs to the rank if its environment says
    so, if the supervisor had listed it, or if it descends from such a process.
    """
    end = time.monotonic() + patience_s
    while True:
        left = _leftovers(folder)
        if not left:
            return True
        if time.monotonic() >= end:
            return False
        for pid in left:
            send(pid, signal.SIGKILL)
        time.sleep(_PAUSE_S)


def _leftovers(folder: RankFolder) -> set[int]:
    table, runtime = read_table(), folder.runtime_of_job
    roots = {pid for pid in table if _belongs(pid, folder, runtime)} | _listed(folder, table)
    found = roots | set(descendants(table, roots))
    return {pid for pid in found if not table[pid].zombie} - {os.getpid()}


def _belongs(pid: int, folder: RankFolder, runtime: str) -> bool:
    env = read_environment(pid)
    # The folder too: another platform on this machine may have a run of the same number.
    return (
        env.get(b"HAI_RUN_ID") == str(folder.run_id).encode()
        and env.get(b"HAI_RANK") == str(folder.rank).encode()
        and env.get(b"HAI_RUNTIME_DIR") == os.fsencode(runtime)
    )


def _listed(folder: RankFolder, table: dict[int, Process]) -> set[int]:
    try:
        boot, *lines = (folder.path / "processes").read_text(encoding="ascii").splitlines()
        # A line with more or fewer words is damaged, and with it the list: a job may have written into it.
        listed = [(int(pid), int(start)) for pid, start in map(str.split, lines)]
    except (OSError, ValueError):
        return set()
    if boot != boot_id():
        return set()
    return {pid for pid, start in listed if pid in table and table[pid].start == start}
