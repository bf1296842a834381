"""Which signals the workers of a run catch, as the kernel tells (proc(5), `SigCgt` and `SigBlk`)."""

from __future__ import annotations

import signal

from hai_client.rank.processes import read_table
from hai_client.rank.workers import workers_of

#: The signals that a profile or `--signal` may send.
ASKED = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGINT)


def caught_by(pid: int) -> frozenset[int]:
    """The signals that a process has a handler for; those that it blocks count too, since signalfd needs that."""
    mask = 0
    try:
        with open(f"/proc/{pid}/status", "rb") as file:  # noqa: PTH123  as the supervisor reads /proc
            for line in file:
                name, _, value = line.partition(b":")
                if name in (b"SigCgt", b"SigBlk"):
                    mask |= int(value, 16)
    except (OSError, ValueError):
        return frozenset()
    return frozenset(number for number in ASKED if mask >> (number - 1) & 1)


def caught_by_all(main: int) -> frozenset[int]:
    """The signals that every worker at and below a process catches; none where there is no worker yet."""
    table = read_table()
    found = [caught_by(pid) for pid in workers_of(table, [main]).top]
    return frozenset.intersection(*found) if found else frozenset()
