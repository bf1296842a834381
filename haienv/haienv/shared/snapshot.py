"""Trees that are copied by hard links, and the facts by which a change of a file is seen without reading it."""

from __future__ import annotations

import errno
import hashlib
import marshal
import os
import shutil
import stat
from pathlib import Path
from typing import Dict, NamedTuple, Tuple

from haienv.shared.errors import Damaged
from haienv.shared.files import opened, write_bytes_atomically
from haienv.shared.tree import COMPILED, WORKERS, Contents, sha256_of, summed

#: What fingerprints begin with: others were made in another way, and cannot be compared.
FINGERPRINT = "2:"
#: The bits of a mode that say what kind of file it is.
_TYPE = 0o170000
#: Why a hard link cannot be made where a copy can: another file system, no right, too many links, no such thing there.
_NO_LINKS = (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP)


class Entry(NamedTuple):
    """A file or a symbolic link of a tree. Environments have tens of thousands: a tuple is made fastest."""

    kind: str  #: `f` file, `x` file that can be executed, `l` symbolic link.
    size: int
    modified_ns: int
    inode: int
    content: str = ""  #: SHA-256 of a file, target of a link; empty: not read yet.

    def same(self, other: Entry) -> bool:
        """Whether nothing of it has changed, as far as can be seen without reading it."""
        return self[:4] == other[:4]


Index = Dict[str, Entry]
#: A path with the fields of its entry.
_Seen = Tuple[str, str, int, int, int, str]


def scan(top: Path) -> Index:
    """Return what a tree holds, without compiled Python, unread. Raises OSError."""
    return {one[0]: Entry(one[1], one[2], one[3], one[4], one[5]) for one in _look(top)}


def _look(top: Path) -> list[_Seen]:
    found: list[_Seen] = []
    left = [("", str(top))]
    while left:
        below, place = left.pop()
        with opened(place) as fd, os.scandir(fd) as entries:
            for entry in entries:
                name = entry.name
                if entry.is_dir(follow_symlinks=False):
                    if name != COMPILED:
                        left.append((f"{below}{name}/", f"{place}/{name}"))
                    continue
                facts = entry.stat(follow_symlinks=False)
                mode = facts.st_mode
                if mode & _TYPE == stat.S_IFLNK:
                    found.append((below + name, "l", 0, 0, 0, os.readlink(name, dir_fd=fd)))
                else:
                    kind = "x" if mode & stat.S_IXUSR else "f"
                    found.append((below + name, kind, facts.st_size, facts.st_mtime_ns, facts.st_ino, ""))
    return found


def fingerprint(index: Index) -> str:
    """Return a digest of what can be seen of a tree without reading files; it differs wherever `differs` says so."""
    return _digest([(path, *entry[:4], _target(entry)) for path, entry in index.items()])


def look(top: Path) -> str:
    """Return the fingerprint of a tree as it is now; faster than to scan it for an index. Raises OSError."""
    return _digest(_look(top))


def _digest(found: list[_Seen]) -> str:
    # To write a line for each file would take as long as to look at it. In version 0 of this format equal values are
    # equal bytes, in each release of Python.
    return f"{FINGERPRINT}{hashlib.sha256(marshal.dumps(sorted(found), 0)).hexdigest()}"


def differs(one: Index, other: Index) -> bool:
    """Return whether a tree has changed between two looks, as far as can be seen without reading files."""
    if one.keys() != other.keys():
        return True
    return any(not entry.same(other[path]) or _target(entry) != _target(other[path]) for path, entry in one.items())


def _target(entry: Entry) -> str:
    return entry.content if entry.kind == "l" else ""


def filled(top: Path, found: Index, known: Index) -> Index:
    """Return an index with the contents: what has not changed is taken from a known one, the rest is read."""
    done = dict(found)
    unread = []
    for path, entry in found.items():
        before = known.get(path)
        if entry.kind == "l":
            continue
        if before is not None and before.content and before.same(entry):
            done[path] = before
        else:
            unread.append(path)
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(WORKERS) as pool:
        for path, content in zip(unread, pool.map(sha256_of, (os.path.join(str(top), one) for one in unread))):
            done[path] = found[path]._replace(content=content)
    return done


def contents_of(index: Index) -> Contents:
    """Return what `tree.contents` returns of a tree with this index."""
    return summed((path, one.kind, one.content, one.size) for path, one in sorted(index.items()))


def link_tree(source: Path, to: Path) -> int:
    """Copy a tree by hard links. Folders are new, and their owner may write into them.

    Returns:
        The number of files that had to be copied, since a link could not be made.

    Raises:
        OSError: It is not complete.
    """
    copied = 0
    os.mkdir(to, 0o755)
    with os.scandir(source) as entries:
        for entry in entries:
            place = os.path.join(to, entry.name)
            if entry.is_dir(follow_symlinks=False):
                copied += link_tree(Path(entry.path), Path(place))
            elif entry.is_symlink():
                os.symlink(os.readlink(entry.path), place)
            else:
                copied += _link(entry.path, place)
    return copied


def _link(source: str, to: str) -> int:
    try:
        os.link(source, to)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        shutil.copy2(source, to)
        return 1
    return 0


def write_index(path: Path, index: Index) -> None:
    """Write an index, whole or not at all. Raises OSError."""
    lines = (
        b"%s %d %d %d %s\0%s\0" % (
            one.kind.encode(), one.size, one.modified_ns, one.inode, os.fsencode(one.content), os.fsencode(name),
        )
        for name, one in index.items()
    )  # fmt: skip
    write_bytes_atomically(path, b"".join(lines))


def read_index(path: Path) -> Index:
    """Read an index. Raises OSError, Damaged."""
    parts = path.read_bytes().split(b"\0")[:-1]
    found: Index = {}
    try:
        for facts, name in zip(parts[::2], parts[1::2]):
            kind, size, modified, inode, content = facts.split(b" ", 4)
            found[os.fsdecode(name)] = Entry(
                kind.decode(), int(size), int(modified), int(inode), os.fsdecode(content)
            )  # fmt: skip
    except ValueError:
        raise Damaged(f"{path}: is no index of files") from None
    return found
