"""Small files that are whole or not there; and reading them, whatever stands in their place.

Nothing here waits for the disk: after a power cut such a file may be empty. A reader takes that for none, and whoever
wrote it writes it anew. What must not be lost, the mark that a rank has begun, is the supervisor's (`hai_client.rank`).
"""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import Any

from hai_client.rank.safefile import put_aside


def write_whole(path: Path, text: str) -> None:
    """Replace a file, readable by its owner only. A folder in its place is put aside. Raises OSError."""
    draft = _draft(path, text)
    try:
        draft.replace(path)
    except IsADirectoryError:
        put_aside(str(path))
        draft.replace(path)


def write_once(path: Path, text: str) -> bool:
    """Write a file unless it exists, whole in either case; whether it was written. Raises OSError."""
    draft = _draft(path, text)
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        return False
    finally:
        draft.unlink()
    return True


def _draft(path: Path, text: str) -> Path:
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        fd = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    return draft


def read_object(path: Path) -> dict[str, Any] | None:
    """The JSON object in a file; None if there is no file, or none that holds one. Raises OSError for anything else."""
    try:
        data = json.loads(path.read_bytes())
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def read_word(path: Path) -> str:
    """The printable text in a file; empty if there is none. Raises OSError for anything else."""
    try:
        text = path.read_text(encoding="ascii").strip()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, ValueError):
        return ""
    return text if text.isprintable() else ""


def make_folder(path: Path) -> None:
    """Create a folder for its owner only. A file in its place is put aside. Raises OSError."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError:
        put_aside(str(path))
        path.mkdir(mode=0o700)
