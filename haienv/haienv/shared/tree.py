"""The files of a generation: their digest, and their rights.

The digest is a SHA-256 over one line for each file and link, in order of paths: kind, whether it can be executed,
SHA-256 of the content or target of the link, path. So equal trees have equal digests on every machine. Compiled
Python (`__pycache__`) is left out: Python may write it later, and checks it against its source.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, Iterator

#: Folders that Python writes, which are no part of the digest.
COMPILED = "__pycache__"
#: The file that uv locks.
LOCK = ".lock"
_READ_BYTES = 1024 * 1024
#: How many files are read at the same time.
WORKERS = min(8, (os.cpu_count() or 1) * 2)


@contextlib.contextmanager
def without_gc() -> Iterator[None]:
    """Look for no cycles meanwhile: among tens of thousands of tuples there are none, and it takes as long as these."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


@dataclass(frozen=True)
class Contents:
    """What a tree of files holds."""

    digest: str
    files: int
    size: int  #: The sum of the sizes, bytes.


def contents(top: Path) -> Contents:
    """Read a tree, and return its digest. Raises OSError."""
    found = sorted(_walk(str(top), ""))
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(WORKERS) as pool:
        facts = pool.map(lambda one: _facts(str(top), one), found, chunksize=64)
        return summed((path, *one) for path, one in zip(found, facts))


def summed(entries: Iterable[tuple[str, str, str, int]]) -> Contents:
    """Return the digest for the files of a tree in order of paths: path, kind, SHA-256 or target, size."""
    lines = []
    size = 0
    for path, kind, content, one in entries:
        lines.append(f"{kind} {content} {path}\0")
        size += one
    whole = hashlib.sha256(os.fsencode("".join(lines)))
    return Contents(f"sha256:{whole.hexdigest()}", len(lines), size)


def _walk(top: str, below: str) -> Iterator[str]:
    with os.scandir(os.path.join(top, below)) as entries:
        for entry in entries:
            path = os.path.join(below, entry.name)
            if not entry.is_dir(follow_symlinks=False):
                yield path
            elif entry.name != COMPILED:
                yield from _walk(top, path)


def _facts(top: str, path: str) -> tuple[str, str, int]:
    """Return kind, content and size of a file or link."""
    place = os.path.join(top, path)
    facts = os.lstat(place)
    if stat.S_ISLNK(facts.st_mode):
        return "l", os.readlink(place), 0
    return ("x" if facts.st_mode & stat.S_IXUSR else "f"), sha256_of(place), facts.st_size


def sha256_of(path: str) -> str:
    """Return the SHA-256 of a file. Raises OSError."""
    whole = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:
        while data := file.read(_READ_BYTES):
            whole.update(data)
    return whole.hexdigest()


def without_locks(top: Path) -> None:
    """Remove the file that uv locks while it installs: the same environment, imported elsewhere, has none.

    Raises:
        OSError: It cannot be removed.
    """
    (top / LOCK).unlink(missing_ok=True)


def seal(top: Path) -> None:
    """Take away all rights to write in a tree, but for the owner's to write compiled Python. Raises OSError.

    Everybody may read what is inside: the folder of the environment says who gets in (`haienv.shared.acl`). A cache of
    someone with a narrow umask would otherwise hand its rights on.
    """
    for folder, folders, files in os.walk(str(top), topdown=False):
        for name in files:
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            wanted = readable(mode)
            if not stat.S_ISLNK(mode) and stat.S_IMODE(mode) != wanted:
                os.chmod(path, wanted)
        compiled = os.path.join(folder, COMPILED)
        if os.path.basename(folder) != COMPILED and COMPILED not in folders and any(n.endswith(".py") for n in files):
            os.mkdir(compiled, 0o755)
        seal_folder(folder)


def seal_folder(folder: str) -> None:
    """Take away the rights to write in one folder, but for the owner's to write compiled Python. Raises OSError."""
    own = stat.S_IWUSR if os.path.basename(folder) == COMPILED else 0
    os.chmod(folder, readable(stat.S_IXUSR) | own)


def readable(mode: int) -> int:
    """Return a mode with which all may read, and execute what its owner may; without setuid, setgid and sticky."""
    return 0o555 if mode & stat.S_IXUSR else 0o444
