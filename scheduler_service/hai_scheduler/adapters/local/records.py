"""Writes and reads the small files of a rank, whatever is in their place.

Nothing here waits for the disk: after a power cut such a file may be empty. Readers then treat it as missing, and the
service writes it again. What must not be lost, the mark that a rank has begun, is written by the supervisor
(`hai_client.rank`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hai_client import whole_files
from hai_client.rank.shared.safefile import put_aside


def write_whole(path: Path, text: str) -> None:
    """Replace a file by one that only its owner may read. A folder in its place is moved aside. Raises OSError."""
    try:
        whole_files.write_whole(path, text)
    except IsADirectoryError:
        put_aside(str(path))
        whole_files.write_whole(path, text)


def read_object(path: Path) -> dict[str, Any] | None:
    """Return the JSON object in a file; None without a file or an object in it. Raises OSError for other errors."""
    try:
        data = json.loads(path.read_bytes())
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def read_word(path: Path) -> str:
    """Return the printable text in a file; empty if there is none. Raises OSError for other errors."""
    try:
        text = path.read_text(encoding="ascii").strip()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, ValueError):
        return ""
    return text if text.isprintable() else ""


def make_folder(path: Path) -> None:
    """Create a folder for its owner only. A file in its place is moved aside. Raises OSError."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError:
        put_aside(str(path))
        path.mkdir(mode=0o700)
