"""Facts about the machine, without names, that readers of the figures need."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path
from typing import Any


def describe(root: Path) -> dict[str, Any]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(memory / 2**30, 1),
        "python": platform.python_version(),
        "platform": platform.platform(),
        #: The load by other work at the begin.
        "load_before": round(os.getloadavg()[0], 2),
        "commit": _commit(root),
    }


def _commit(root: Path) -> str | None:
    try:
        command = ["git", "--no-optional-locks", "describe", "--always", "--dirty", "--exclude=*"]
        return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
