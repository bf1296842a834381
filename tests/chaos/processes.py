"""The processes of one platform, by role. Only processes that name the platform's own folder are found."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

#: Words of a command line, and the role of a process with them; the first that fits counts.
ROLES = (
    ("-m hai_client.rank ", "supervisor"),
    ("-m hai_scheduler --role loop", "loop"),
    ("-m hai_scheduler --role api", "api"),
    ("-m hai_hub.up.hub", "hub"),
    ("/hai up ", "up"),
    ("chaos/rank.py", "command"),
)


@dataclass(frozen=True)
class Process:
    """A process and its role: one of ROLES, or `other`."""

    pid: int
    role: str
    line: str


def find(folder: Path) -> list[Process]:
    """The processes that name the folder in their arguments or their environment, without this process."""
    mark = os.fsencode(folder)
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            line = (entry / "cmdline").read_bytes()
            # A zombie has no arguments any more.
            if line and (mark in line or mark in (entry / "environ").read_bytes()):
                words = line.replace(b"\0", b" ").decode(errors="replace")
                role = next((role for text, role in ROLES if text in words), "other")
                found.append(Process(int(entry.name), role, words.strip()))
    return found


def send(pid: int, number: int) -> bool:
    """Send a signal to a process; returns whether the process was there. A zombie counts as gone."""
    try:
        there = b"\nState:\tZ" not in Path(f"/proc/{pid}/status").read_bytes()
        os.kill(pid, number)
        return there
    except (ProcessLookupError, FileNotFoundError):
        return False


def children(pid: int) -> list[int]:
    """The direct children of a process."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(word) for thread in threads for word in (thread / "children").read_text().split()]
    except OSError:
        return []
