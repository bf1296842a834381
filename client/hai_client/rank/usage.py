"""What the processes of a rank use."""

from __future__ import annotations

import os
import resource

from hai_client.rank.processes import Process, descendants, read_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Usage:
    """CPU time (seconds, in all) and resident memory (bytes, now and at its greatest) of all descendants."""

    def __init__(self) -> None:
        self._peak = 0

    def sample(self) -> tuple[dict[str, Any], list[Process]]:
        """Measure; the numbers and the processes that are there."""
        table = read_table()
        alive = [table[pid] for pid in descendants(table, (os.getpid(),)) if not table[pid].zombie]
        rss = sum(process.rss_pages for process in alive) * _PAGE
        self._peak = max(self._peak, rss)
        cpu = _reaped_cpu() + sum(process.cpu_ticks for process in alive) / _TICKS
        return {"cpu_s": round(cpu, 3), "rss_bytes": rss, "rss_peak_bytes": self._peak}, alive

    def final(self) -> dict[str, Any]:
        """The numbers when nothing is left."""
        largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        return {"cpu_s": round(_reaped_cpu(), 3), "rss_bytes": 0, "rss_peak_bytes": max(self._peak, largest)}


def _reaped_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
