"""What uses a generation now: it must not be removed."""

from __future__ import annotations

import json
import os
from pathlib import Path

from haienv.layout import Generation
from haienv.names import BASE

#: The folder of references, below the root: `REFERENCES/<full name>/<generation>/<key>.json`.
REFERENCES = ".references"


def in_use(generation: Generation) -> list[str]:
    """Return what uses a generation, in words: tasks of HAI, and processes of this machine with its Python."""
    prefix = f"{os.path.realpath(generation.prefix)}/"
    pids = [name for name in os.listdir("/proc") if name.isdigit()]
    processes = [f"process {pid}" for pid in pids if any(path.startswith(prefix) for path in _paths(pid))]
    return [*_referring(generation), *processes]


def _referring(generation: Generation) -> list[str]:
    """Return who has written a reference: the scheduler does so for tasks, waiting ones too."""
    env = generation.folder.parent.parent
    # A user or group may be called `base` too.
    roots = [env.parents[2], *([env.parents[1]] if env.parent.name == BASE else [])]
    found = []
    for root in roots:
        place = root / REFERENCES / env.relative_to(root) / generation.folder.name
        found += [_said(path) for path in sorted(place.glob("*.json"))]
    return [one for one in found if one]


def _said(path: Path) -> str:
    """Return what a reference says; empty: it was removed just now. One that cannot be read counts all the same."""
    try:
        what = json.loads(path.read_text(encoding="utf-8"))["what"]
        return what if isinstance(what, str) else path.name
    except FileNotFoundError:
        return ""
    except (OSError, ValueError, LookupError, TypeError):
        return f"the reference {path}"


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
