"""Small files that are whole or not there, also after a power cut; and reading them, whatever stands in their place."""

from __future__ import annotations

import contextlib
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
            if text:
                # A name must not outlive a power cut without what it names.
                file.flush()
                os.fsync(file.fileno())
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
    """Create a folder for its owner only, for good. A file in its place is put aside. Raises OSError."""
    if path.is_dir():
        return
    try:
        path.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        if path.is_dir():  # somebody else was faster
            return
        put_aside(str(path))
        path.mkdir(mode=0o700)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Let the names in a folder outlive a power cut, where the file system can do that. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):
            os.fsync(fd)
    finally:
        os.close(fd)
