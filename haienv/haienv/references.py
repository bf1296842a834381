"""What uses a generation now: it must not be removed."""

from __future__ import annotations

import os
from typing import List

from haienv.layout import Generation


def in_use(generation: Generation) -> List[str]:
    """Return what uses a generation, in words: processes of this machine whose Python is the generation's."""
    prefix = f"{os.path.realpath(generation.prefix)}/"
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and any(path.startswith(prefix) for path in _paths(name)):
            found.append(f"process {name}")
    return found


def _paths(pid: str) -> List[str]:
    """Return the program of a process as it was called, and its VIRTUAL_ENV."""
    paths = []
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            paths.append(os.fsdecode(file.read().split(b"\0")[0]))
        with open(f"/proc/{pid}/environ", "rb") as file:
            for entry in file.read().split(b"\0"):
                if entry.startswith(b"VIRTUAL_ENV="):
                    paths.append(f"{os.fsdecode(entry[12:])}/")
    except OSError:
        pass
    return paths
