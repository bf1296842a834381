"""Memory and time of processes, from /proc."""

from __future__ import annotations

import os
import time
from pathlib import Path

from e2e.conftest import Platform, processes_with


def rss_mib(pid: int) -> float:
    """Resident memory of a process, in MiB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise LookupError(f"process {pid} has no memory")


def cpu_share(pid: int, seconds: float) -> float:
    """Percent of a core that a process takes during the next `seconds`."""
    before = cpu_seconds(pid)
    time.sleep(seconds)
    return (cpu_seconds(pid) - before) / seconds * 100


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has had, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def hub_pid(platform: Platform) -> int:
    """The Hub's process: the proxy is inside."""
    assert platform.process is not None
    up = platform.process.pid
    children = Path(f"/proc/{up}/task/{up}/children").read_text().split()
    return next(pid for pid in processes_with("-m hai_hub.up.hub ") if str(pid) in children)
