"""Small files that are replaced in one step, even when the disk is full."""
# ruff: noqa: PTH104, PTH108, PTH118
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import contextlib
import os

#: Space that is kept for a write on a full disk, bytes.
RESERVE_BYTES = 16 * 1024


class SafeFile:
    """A file that readers see complete or not at all.

    Usually a write makes a new file and renames it. A spare file is allocated beforehand; on a full disk the spare
    file is written in place and swaps names with the old file, which needs no new disk block.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._spare = f"{path}.spare"
        self._next = f"{path}.tmp"

    def reserve(self) -> None:
        """Allocate the spare file. Raises OSError if the disk is full already."""
        fd = os.open(self._spare, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(fd, 0, RESERVE_BYTES)
        finally:
            os.close(fd)

    def write(self, data: bytes, short: bytes | None = None) -> bool:
        """Replace the content.

        Args:
            data: The content.
            short: A shorter version for a full disk.

        Returns:
            Whether the content was replaced; the old one stays if not.
        """
        with contextlib.suppress(OSError):
            self._fresh(data)
            return True
        with contextlib.suppress(OSError):
            os.unlink(self._next)
        for content in (data, short):
            if content is not None:
                with contextlib.suppress(OSError):
                    self._in_place(content)
                    return True
        return False

    def _fresh(self, data: bytes) -> None:
        fd = os.open(self._next, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            write_all(fd, data)
        finally:
            os.close(fd)
        try:
            os.rename(self._next, self._path)
        except IsADirectoryError:
            put_aside(self._path)
            os.rename(self._next, self._path)

    def _in_place(self, data: bytes) -> None:
        fd = os.open(self._spare, os.O_WRONLY | os.O_CLOEXEC)
        try:
            write_all(fd, data)
            os.ftruncate(fd, len(data))
        finally:
            os.close(fd)
        # The old file stays allocated under another name and is the next spare.
        with contextlib.suppress(OSError):
            os.link(self._path, self._next)
        os.rename(self._spare, self._path)
        with contextlib.suppress(OSError):
            os.rename(self._next, self._spare)

    def release(self) -> None:
        """Remove the spare file."""
        with contextlib.suppress(OSError):
            os.unlink(self._spare)


def put_aside(path: str) -> None:
    """Rename a folder, or other thing, that is in the place of one of the platform's files. Raises OSError."""
    folder, name = os.path.split(path)
    os.rename(path, os.path.join(folder, f".aside-{name}-{os.urandom(6).hex()}"))


def write_all(fd: int, data: bytes) -> None:
    """Write everything. Raises OSError."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]
