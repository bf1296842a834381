"""What uses a generation now: it must not be removed."""

from __future__ import annotations

import os

from haienv.store.layout import Generation


def in_use(generation: Generation) -> list[str]:
    """Return what uses a generation, in words: processes of this machine whose Python is the generation's."""
    prefix = f"{os.path.realpath(generation.prefix)}/"
    pids = [name for name in os.listdir("/proc") if name.isdigit()]
    return [f"process {pid}" for pid in pids if any(path.startswith(prefix) for path in _paths(pid))]


def _paths(pid: str) -> list[str]:
    """Return the program of a process as it was called, and its VIRTUAL_ENV."""
    paths = []
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            paths.append(os.fsdecode(file.read().split(b"\0")[0]))
        with open(f"/proc/{pid}/environ", "rb") as file:
            entries = file.read().split(b"\0")
        paths += [f"{os.fsdecode(entry[12:])}/" for entry in entries if entry.startswith(b"VIRTUAL_ENV=")]
    except OSError:
        pass
    return paths
