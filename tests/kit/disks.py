"""Small file systems, mounted for a test; the test is skipped where this machine allows none."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def mounted(*words: str) -> Iterator[Path]:
    """A file system, mounted in a new folder by the words of `mount`; skips the test where that is not possible."""
    place = Path(tempfile.mkdtemp(prefix="hai-small-"))
    try:
        done = subprocess.run(["mount", *words, str(place)], check=False, capture_output=True, text=True)
        said = done.stderr.strip()[:200] if done.returncode else ""
    except OSError as error:
        said = str(error)
    if said:
        place.rmdir()
        pytest.skip(f"this machine cannot mount it: {said}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
        place.rmdir()


def small_disk(size: str, mode: str = "755") -> contextlib.AbstractContextManager[Path]:
    """A file system of that size, in memory: `512k`, `1m`."""
    return mounted("-t", "tmpfs", "-o", f"size={size},mode={mode}", "tmpfs")


def fill(file: Path) -> None:
    """Take the disk's last block. Blocks that are reserved for what is not on it yet are free again once it is."""
    with file.open("wb", buffering=0) as taker:
        before = -1
        while taker.tell() > before:
            before = taker.tell()
            with contextlib.suppress(OSError):
                while taker.write(bytes(4096)):
                    pass
            os.fsync(taker.fileno())
