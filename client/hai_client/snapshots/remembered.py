"""What the client remembers of files whose content it has read: an unchanged folder is not read again.

A file is known by the times of its last changes, its size, its number and its device. One that had changed within the
last second before it was read is read again: another change within the same moment would not show.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Mapping, Tuple

from hai_client.linux.rights import make_folder
from hai_client.whole_files import write_whole

Stamp = Tuple[int, int, int, int, int]
#: How long before it was read a file must have been changed to be remembered, in nanoseconds.
SETTLED_NS = 1_000_000_000
_SCHEMA = 1


class RememberedFiles:
    """The contents of a folder's files, as they were read last.

    Args:
        folder: The folder.
        cache: The folder of the user's cache.
    """

    def __init__(self, folder: str, cache: Path) -> None:
        self._file = cache / "snapshots" / f"{hashlib.sha256(os.fsencode(folder)).hexdigest()[:32]}.json"
        self._old: dict[str, list[object]] = self._load()
        self._new: dict[str, list[object]] = {}
        self._changed = False

    def content(self, path: str, stamp: Stamp) -> str | None:
        """Return the SHA-256 of a file that is as it was; None: it must be read."""
        known = self._old.get(path)
        if known is None or known[:-1] != list(stamp):
            return None
        self._new[path] = known
        return str(known[-1])

    def remember(self, path: str, stamp: Stamp, content: str, *, read_at_ns: int | None = None) -> None:
        """Remember the SHA-256 of a file.

        Args:
            path: The file.
            stamp: Its state, as it was before and after it was read.
            content: The SHA-256.
            read_at_ns: When reading began, in nanoseconds since 1970; None: now.
        """
        now = time.time_ns() if read_at_ns is None else read_at_ns
        if now - max(stamp[0], stamp[1]) >= SETTLED_NS:
            self._new[path] = [*stamp, content]
            self._changed = True

    def save(self) -> None:
        """Write what is remembered, unless nothing has changed. A cache that cannot be written is done without."""
        if not self._changed and len(self._new) == len(self._old):
            return
        try:
            make_folder(self._file.parent, 0o700, above=0o700)
            write_whole(self._file, json.dumps({"schema": _SCHEMA, "files": self._new}, separators=(",", ":")))
        except (OSError, UnicodeError):
            return

    def _load(self) -> dict[str, list[object]]:
        try:
            found = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        files = found.get("files") if isinstance(found, dict) and found.get("schema") == _SCHEMA else None
        if not isinstance(files, dict):
            return {}
        return {path: known for path, known in files.items() if isinstance(known, list) and len(known) == 6}


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of the user's cache: `$XDG_CACHE_HOME/hai`, else `~/.cache/hai`."""
    base = environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else Path(environ.get("HOME") or Path.home()) / ".cache") / "hai"
