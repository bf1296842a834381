"""Digests of files that were read before, so that a build reads no file twice.

Packages are hard links to the files of uv's cache: the same file is in every environment of a builder that has the
package. A file is known by its inode, its size and the time of its last change, to the nanosecond, as git knows it.
The memory lies beside the cache, which is the builder's own. Verifying (`haienv doctor`) does not use it.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from haienv.shared.tree import COMPILED, WORKERS, Contents, sha256_of, summed

FILE = "digests.sqlite"
#: Longest wait for another build that writes the memory, seconds.
PATIENCE_S = 5.0
#: How many rows there may be for each file that is asked for so that reading all is faster than asking for each.
ALL_AT_ONCE = 8
_TABLE = "CREATE TABLE IF NOT EXISTS digest (inode TEXT PRIMARY KEY, facts TEXT, sha256 TEXT) WITHOUT ROWID"


class File(NamedTuple):
    """A file or a symbolic link of a tree. Environments have tens of thousands: a tuple is made fastest."""

    #: Relative to the tree.
    path: str
    #: `f` file, `x` file that can be executed, `l` symbolic link.
    kind: str
    size: int
    modified_ns: int
    device: int
    inode: int
    #: SHA-256, or the target of a link; empty: not read yet.
    content: str = ""

    @property
    def key(self) -> str:
        """What names the file on this machine."""
        return f"{self.device}:{self.inode}"

    @property
    def facts(self) -> str:
        """What changes with its content."""
        return f"{self.size}:{self.modified_ns}"


def contents(top: Path, memory: Path) -> tuple[Contents, list[File]]:
    """Return what `tree.contents` returns of a tree, and its files. Files that are not remembered are read.

    Args:
        top: The tree.
        memory: The folder of the memory; it is made. Where it cannot be used, every file is read.

    Raises:
        OSError: A file cannot be read.
    """
    found = sorted(_scan(str(top), ""), key=lambda one: one.path)
    files = [one for one in found if one.kind != "l"]
    known = _recall(memory, files)
    unread = [one for one in files if one.key not in known]
    with ThreadPoolExecutor(WORKERS) as pool:
        places = (os.path.join(str(top), one.path) for one in unread)
        read = {one.key: content for one, content in zip(unread, pool.map(sha256_of, places))}
    _remember(memory, [(one.key, one.facts, read[one.key]) for one in unread])
    known |= read
    done = [
        one if one.kind == "l" else File(
            one.path, one.kind, one.size, one.modified_ns, one.device, one.inode, known[one.key]
        )
        for one in found
    ]  # fmt: skip
    return summed((one.path, one.kind, one.content, one.size) for one in done), done


def _scan(top: str, below: str) -> Iterator[File]:
    with os.scandir(os.path.join(top, below)) as entries:
        for entry in entries:
            path = os.path.join(below, entry.name)
            if entry.is_dir(follow_symlinks=False):
                if entry.name != COMPILED:
                    yield from _scan(top, path)
                continue
            facts = entry.stat(follow_symlinks=False)
            if stat.S_ISLNK(facts.st_mode):
                yield File(path, "l", 0, 0, facts.st_dev, facts.st_ino, os.readlink(entry.path))
            else:
                kind = "x" if facts.st_mode & stat.S_IXUSR else "f"
                yield File(path, kind, facts.st_size, facts.st_mtime_ns, facts.st_dev, facts.st_ino)


def _recall(memory: Path, files: Iterable[File]) -> dict[str, str]:
    """Return the digests that are remembered, by file."""
    found: dict[str, str] = {}
    if not (memory / FILE).exists():
        return found
    # A memory that is damaged, or on a file server without locks, is none: the files are there to be read.
    with suppress(sqlite3.Error, OSError), closing(_opened(memory)) as database:
        wanted = {one.key: one.facts for one in files}
        [rows] = database.execute("SELECT count(*) FROM digest").fetchone()
        if rows <= ALL_AT_ONCE * len(wanted):
            answers: Iterable[tuple[str, str, str]] = database.execute("SELECT inode, facts, sha256 FROM digest")
        else:
            asked = "SELECT inode, facts, sha256 FROM digest WHERE inode = ?"
            answers = (row for key in wanted for row in database.execute(asked, (key,)))
        found |= {key: content for key, facts, content in answers if wanted.get(key) == facts}
    return found


def _remember(memory: Path, rows: list[tuple[str, str, str]]) -> None:
    if not rows:
        return
    with suppress(sqlite3.Error, OSError):
        memory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with closing(_opened(memory)) as database, database:
            database.execute(_TABLE)
            database.executemany("INSERT OR REPLACE INTO digest VALUES (?, ?, ?)", rows)


def _opened(memory: Path) -> sqlite3.Connection:
    database = sqlite3.connect(memory / FILE, timeout=PATIENCE_S)
    # It can be made again: a power cut may cost it.
    database.execute("PRAGMA synchronous = OFF")
    return database
