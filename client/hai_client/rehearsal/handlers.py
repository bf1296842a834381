"""Which signals the workers of a run catch with a handler, or fetch with sigwait or signalfd."""

from __future__ import annotations

import signal

from hai_client.linux.catching import read_masks
from hai_client.linux.processes import read_table
from hai_client.rank.notices.workers import workers_of

#: The signals that a profile or `--signal` may send.
ASKED = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGINT)


def caught_by(pid: int) -> frozenset[int]:
    """The signals that a process has a handler for, or fetches itself."""
    masks = read_masks(pid)
    return frozenset(number for number in ASKED if masks.catches(number))


def caught_by_all(main: int) -> frozenset[int]:
    """Return the signals that every worker at and below a process catches; empty if there is no worker yet."""
    table = read_table()
    found = [caught_by(pid) for pid in workers_of(table, [main]).top]
    return frozenset.intersection(*found) if found else frozenset()
