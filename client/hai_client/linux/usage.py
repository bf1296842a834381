"""Measures the CPU time and memory of a rank's processes."""

from __future__ import annotations

import os
import resource

from hai_client.linux.processes import Process, descendants, read_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class RankUsage:
    """CPU time (total, seconds) and resident memory (now and peak, bytes) of all descendants."""

    def __init__(self) -> None:
        self._peak = 0

    def sample(self) -> tuple[dict[str, Any], list[Process]]:
        """Measure the usage; return the numbers and the living processes."""
        table = read_table()
        alive = [table[pid] for pid in descendants(table, (os.getpid(),)) if not table[pid].zombie]
        rss = sum(process.rss_pages for process in alive) * _PAGE
        self._peak = max(self._peak, rss)
        cpu = _reaped_cpu() + sum(process.cpu_ticks for process in alive) / _TICKS
        return {"cpu_s": round(cpu, 3), "rss_bytes": rss, "rss_peak_bytes": self._peak}, alive

    def final(self) -> dict[str, Any]:
        """Return the numbers after all processes have ended."""
        largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        return {"cpu_s": round(_reaped_cpu(), 3), "rss_bytes": 0, "rss_peak_bytes": max(self._peak, largest)}


def _reaped_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
