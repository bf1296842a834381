"""Digests of files that were read before, so that a build reads no file twice.

Packages are hard links to the files of uv's cache: the same file is in every environment of a builder that has the
package. A file is known by its inode, its size and the time of its last change, to the nanosecond, as git knows it.
The memory lies beside the cache, which is the builder's own. Verifying (`haienv doctor`) does not use it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from stat import S_IFLNK as _LINK
from typing import NamedTuple

from haienv.shared.beside import Beside
from haienv.shared.files import opened
from haienv.shared.tree import COMPILED, WORKERS, Contents, readable, sha256_of, summed

FILE = "digests.sqlite"
#: Longest wait for another build that writes the memory, seconds.
PATIENCE_S = 5.0
#: Up to this many rows reading all is faster than asking for each; they take some 50 MB.
ALL_AT_ONCE = 200_000
_TABLE = (
    "CREATE TABLE IF NOT EXISTS file (device INTEGER, inode INTEGER, size INTEGER, modified INTEGER, sha256 TEXT,"
    " PRIMARY KEY (device, inode)) WITHOUT ROWID"
)
#: The bits of a mode that say what kind of file it is.
_TYPE = 0o170000
_COLUMNS = "device, inode, size, modified, sha256"

#: Device, inode, size, time of the last change in nanoseconds: what names a file with its content on this machine.
Facts = tuple[int, int, int, int]


class File(NamedTuple):
    """A file or a symbolic link of a tree. Environments have tens of thousands: a tuple is made fastest."""

    path: str  #: Relative to the tree.
    kind: str  #: `f` file, `x` file that can be executed, `l` symbolic link.
    facts: Facts
    links: int  #: How many names the file has.
    content: str = ""  #: SHA-256, or the target of a link; empty: not read yet.

    @property
    def size(self) -> int:
        """Bytes; 0 for a link."""
        return self.facts[2]

    @property
    def modified_ns(self) -> int:
        """When it was changed last."""
        return self.facts[3]


class Memory:
    """The digests that a builder remembers. One that cannot be used costs only time: every file is read then.

    Args:
        folder: Where it lies; it is made when there is something to remember.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[Facts, str] = {}
        self._whole = False
        # A build has other things to do at first.
        self._reading = Beside(self._read)

    def known(self, files: Iterable[File]) -> dict[Facts, str]:
        """Return the digests that are remembered: all of them, or where they are too many, of these files at least."""
        self._reading.result()
        if not self._whole:
            self._ask(files)
        return self._known

    def remember(self, found: Iterable[File]) -> None:
        """Add files that were read."""
        rows = [(*one.facts, one.content) for one in found]
        if not rows:
            return
        with suppress(sqlite3.Error, OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with closing(self._opened()) as database, database:
                database.execute(_TABLE)
                database.executemany(f"INSERT OR REPLACE INTO file ({_COLUMNS}) VALUES (?, ?, ?, ?, ?)", rows)  # noqa: S608

    def _read(self) -> None:
        if not (self.folder / FILE).exists():
            self._whole = True
            return
        # A memory that is damaged, or on a file server without locks, is none: the files are there to be read.
        with suppress(sqlite3.Error, OSError), closing(self._opened()) as database:
            [count] = database.execute("SELECT count(*) FROM file").fetchone()
            if count <= ALL_AT_ONCE:
                rows = database.execute(f"SELECT {_COLUMNS} FROM file").fetchall()  # noqa: S608
                self._known = {row[:4]: row[4] for row in rows}
                self._whole = True

    def _ask(self, files: Iterable[File]) -> None:
        with suppress(sqlite3.Error, OSError), closing(self._opened()) as database:
            asked = f"SELECT {_COLUMNS} FROM file WHERE device = ? AND inode = ?"  # noqa: S608
            for one in files:
                for row in database.execute(asked, one.facts[:2]):
                    self._known[row[:4]] = row[4]

    def _opened(self) -> sqlite3.Connection:
        database = sqlite3.connect(self.folder / FILE, timeout=PATIENCE_S)
        # It can be made again: a power cut may cost it.
        database.execute("PRAGMA synchronous = OFF")
        return database


def look(top: Path, known: Mapping[Facts, str], *, seal: bool = False) -> tuple[list[File], list[str]]:
    """Return the files of a tree in order of paths, without compiled Python, and the paths of its folders.

    Args:
        top: The tree.
        known: Digests that are remembered; what is not among them is left unread.
        seal: Whether to take away all rights to write files, as `tree.seal` does; folders are left for later.

    Raises:
        OSError: It cannot be read, or it is not ours to seal.
    """
    files: list[File] = []
    folders: list[str] = []
    left = [("", str(top), False)]
    while left:
        below, place, compiled = left.pop()
        folders.append(place)
        with opened(place) as fd, os.scandir(fd) as entries:
            for entry in entries:
                name = entry.name
                if entry.is_dir(follow_symlinks=False):
                    if seal or name != COMPILED:
                        left.append((f"{below}{name}/", f"{place}/{name}", compiled or name == COMPILED))
                    continue
                stat = entry.stat(follow_symlinks=False)
                mode = stat.st_mode
                if mode & _TYPE == _LINK:
                    if not compiled:
                        facts = (stat.st_dev, stat.st_ino, 0, 0)
                        files.append(File(below + name, "l", facts, 1, os.readlink(name, dir_fd=fd)))
                    continue
                if seal and mode & 0o7777 not in (0o444, 0o555):
                    os.chmod(name, readable(mode), dir_fd=fd)
                if not compiled:
                    facts = (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)
                    kind = "x" if mode & 0o100 else "f"
                    files.append(File(below + name, kind, facts, stat.st_nlink, known.get(facts, "")))
    files.sort()
    return files, folders


def read(top: Path, files: list[File], memory: Memory) -> list[File]:
    """Fill in the contents of the files that have none, and return these. Raises OSError."""
    at = [number for number, one in enumerate(files) if not one.content]
    known = memory.known(files[number] for number in at)
    at = [number for number in at if not _recalled(files, number, known)]
    for number, content in zip(at, _digests(top, [files[number] for number in at]), strict=True):
        files[number] = files[number]._replace(content=content)
    return [files[number] for number in at]


def _recalled(files: list[File], number: int, known: Mapping[Facts, str]) -> bool:
    content = known.get(files[number].facts)
    if content is not None:
        files[number] = files[number]._replace(content=content)
    return content is not None


def _digests(top: Path, files: list[File]) -> list[str]:
    places = [f"{top}/{one.path}" for one in files]
    if len(places) < WORKERS:
        return [sha256_of(one) for one in places]
    # Importing it takes longer than reading a few files.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(WORKERS) as pool:
        return list(pool.map(sha256_of, places))


def contents(files: Iterable[File]) -> Contents:
    """Return what `tree.contents` returns of the tree with these files, which are in order and were read."""
    return summed((one.path, one.kind, one.content, one.facts[2]) for one in files)
