"""What the processes below this one use, where they have no cgroup of their own."""
# ruff: noqa: PTH123
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import os
import resource

from hai_client.linux.processes import descendants, read_process, read_table
from hai_client.metrics.rates import Rates

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
#: How often all processes of the machine are looked at for descendants that were overlooked, seconds. In between, the
#: children of known processes are: that finds all but those that a thread other than the main one has started.
SCAN_EVERY_S = 10.0


class TreeReader:
    """Cores, memory and disk traffic of all descendants of this process.

    The time of a process that has ended is its parent's from then on, so that the sum only grows. Memory is the sum of
    what is resident of each process: pages that two of them share count twice.
    """

    def __init__(self) -> None:
        self._rates = Rates()
        self._known: set[int] = set()
        self._scanned: float | None = None
        self._cores = os.cpu_count() or 1

    def read(self, now: float) -> dict[str, float]:
        """Return the metrics of this moment (seconds of a clock that never steps)."""
        if self._scanned is None or now - self._scanned >= SCAN_EVERY_S:
            self._scanned = now
            self._known = set(descendants(read_table(), (os.getpid(),)))
        else:
            self._find_children()
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu, memory, read, written = used.ru_utime + used.ru_stime, 0.0, 0.0, 0.0
        traffic = False
        for pid in list(self._known):
            process = read_process(pid)
            if process is None:
                self._known.discard(pid)
                continue
            cpu += process.cpu_ticks / _TICKS
            memory += process.rss_pages * _PAGE
            bytes_of = _traffic(pid)
            if bytes_of is not None:
                traffic = True
                read, written = read + bytes_of[0], written + bytes_of[1]
        counters = {"cpu": cpu}
        if traffic:
            counters.update(disk_read=read, disk_written=written)
        found = self._rates.of(counters, now)
        if "cpu" in found:
            # A process that is found late brings the time of all its life in one sample.
            found["cpu"] = min(found["cpu"], self._cores)
        found["memory"] = memory
        return found

    def _find_children(self) -> None:
        level = [os.getpid(), *self._known]
        while level:
            new = {child for pid in level for child in _children(pid)} - self._known
            self._known |= new
            level = list(new)


def _children(pid: int) -> list[int]:
    """Return the children that the main thread of a process has; none where the kernel does not tell them."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", "rb", buffering=0) as file:
            return [int(word) for word in file.read().split()]
    except (OSError, ValueError):
        return []


def _traffic(pid: int) -> tuple[int, int] | None:
    """Return the bytes that a process has read from disks and written to them; None if they cannot be read."""
    try:
        with open(f"/proc/{pid}/io", "rb", buffering=0) as file:
            fields = dict(line.split(b": ") for line in file.read().splitlines())
        return int(fields[b"read_bytes"]), int(fields[b"write_bytes"])
    except (OSError, ValueError, KeyError):
        return None
