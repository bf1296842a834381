"""Makes the trees of snapshots of hard links, and removes them."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from hai_client.snapshots.manifest import LINK, PROGRAM, Entry
from hai_scheduler.adapters.snapshots.layout import Place
from haienv.shared.unfollowed import remove_tree

#: The name of the tree within its folder.
CODE: Final = "code"
_CLOSED: Final = 0o555
_READABLE: Final = 0o444
_RUNNABLE: Final = 0o555
#: What a file system answers that has no more links for a file, or none at all.
_NO_LINK: Final = (errno.EMLINK, errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EXDEV)


def make(place: Place, digest: str, entries: Sequence[Entry]) -> None:
    """Make the tree of a snapshot whose contents are all there; does nothing if there is one. Raises OSError."""
    if place.tree(digest).is_dir():
        return
    draft = place.draft()
    code = draft / CODE
    try:
        draft.mkdir(mode=0o700)
        code.mkdir()
        folders = _folders(entries)
        for folder in folders:
            os.mkdir(f"{code}/{folder}")
        for entry in entries:
            if entry.kind == LINK:
                os.symlink(entry.what, f"{code}/{entry.path}")
            else:
                _link(_content(place, entry), f"{code}/{entry.path}", program=entry.kind == PROGRAM)
        for folder in reversed(folders):
            os.chmod(f"{code}/{folder}", _CLOSED)
        code.chmod(_CLOSED)
        draft.chmod(0o755)
        draft.rename(place.tree(digest))
    except OSError as error:
        remove(draft)
        # Somebody else has made it at the same time.
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST) or not place.tree(digest).is_dir():
            raise
    sync_folder(place.tree(digest).parent)


def _folders(entries: Sequence[Entry]) -> list[str]:
    """Return all folders of a tree, each after the one that it is in."""
    found: set[str] = set()
    for entry in entries:
        folder = entry.path.rpartition("/")[0]
        while folder and folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return sorted(found)


def _content(place: Place, entry: Entry) -> str:
    """Return the file to link to. Links to one file share its rights, so programs have a file of their own."""
    program = entry.kind == PROGRAM
    wanted = place.content(entry.what, program=program)
    if not wanted.exists():
        draft = place.draft()
        shutil.copyfile(place.either(entry.what), draft)
        draft.chmod(_RUNNABLE if program else _READABLE)
        draft.replace(wanted)
    return str(wanted)


def _link(source: str, target: str, *, program: bool) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
        shutil.copyfile(source, target)
        os.chmod(target, _RUNNABLE if program else _READABLE)


def remove(folder: Path) -> None:
    """Remove a tree or a draft, as far as that can be done; an account may still write to what was its own."""
    with contextlib.suppress(OSError):
        remove_tree(folder)


def sync_folder(folder: Path) -> None:
    """Wait until the disk has the names in a folder. Raises OSError."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
