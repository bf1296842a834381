"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator


def write_atomically(path: Path, text: str, *, mode: int = 0o644) -> None:
    """Replace a file by one with this text. A reader sees the old file or the new one. Raises OSError."""
    write_bytes_atomically(path, text.encode("utf-8"), mode=mode)


def write_bytes_atomically(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Replace a file by one with these bytes. A reader sees the old file or the new one. Raises OSError."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(fd, mode)
            os.fsync(fd)
        os.replace(draft, path)
    except BaseException:
        draft.unlink()
        raise
    _sync(path.parent)


def link_atomically(path: Path, target: str) -> None:
    """Replace a symbolic link. A reader sees the old target or the new one. Raises OSError."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    if draft.is_symlink():
        draft.unlink()
    os.symlink(target, draft)
    os.replace(draft, path)
    _sync(path.parent)


@contextmanager
def opened(folder: str) -> Iterator[int]:
    """Open a folder, so that its entries can be looked at by name, without resolving the whole path each time.

    Raises:
        OSError: It is no folder, or cannot be read.
    """
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


def _sync(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
