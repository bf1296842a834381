"""Write tar files whose bytes are those of what is in them alone: no time, no owner and no order of a disk."""

from __future__ import annotations

import gzip
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import IO


def pack(folder: Path, target: Path, *, top: str = "", time: int = 0, compressed: bool = False) -> None:
    """Write the folder's files into a tar file, below `top`; each has this time, in seconds since 1970."""

    def same(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mtime = time
        entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
        return entry

    with target.open("wb") as file:
        if not compressed:
            _write(folder, file, top, same)
            return
        # The name of the file would be in its head.
        with gzip.GzipFile("", "wb", 9, file, mtime=time) as packed:
            _write(folder, packed, top, same)


def _write(
    folder: Path, file: IO[bytes] | gzip.GzipFile, top: str, same: Callable[[tarfile.TarInfo], tarfile.TarInfo]
) -> None:
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(folder.rglob("*")):
            archive.add(path, f"{top}{path.relative_to(folder).as_posix()}", recursive=False, filter=same)
