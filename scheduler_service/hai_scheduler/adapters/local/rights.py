"""Rights on the folders of runs: a job, or a hand, may have taken them away from their owner, which is this user."""

from __future__ import annotations

import logging
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

log = logging.getLogger(__name__)

#: What the platform itself puts there is no deeper: task, run, rank, `runtime`, `reports`.
_DEPTH: Final = 5
#: From a rank up to its task.
_HEIGHT: Final = 2

T = TypeVar("T")


def with_rights(path: Path, do: Callable[[], T]) -> T:
    """Do something with a folder; where a right is missing, give the owner his rights back and do it once more.

    Args:
        path: The folder.
        do: What is to be done. It must be harmless to do it twice.

    Raises:
        OSError: It is impossible all the same, or for another reason.
    """
    try:
        return do()
    except PermissionError as error:
        # Both: what lies in the way hides what lies behind it.
        if not any([_open_way(path), give_back(path)]):
            raise
        log.warning("%s: %s; its owner has been given back his rights", path, error.strerror)
        return do()


def _open_way(path: Path, height: int = _HEIGHT) -> bool:
    """Let the owner pass through the folders above, as far as they are in the way; whether one was and is no more."""
    try:
        path.lstat()
    except PermissionError:
        if height == 0:
            return False
        opened = _open_way(path.parent, height - 1)
        return _grant(path.parent) or opened
    except OSError:
        return False
    return False


def _grant(path: Path) -> bool:
    """Give the owner his rights on a folder or a file; whether any was missing. Links and devices are left alone."""
    try:
        mode = path.lstat().st_mode
        if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
            return False
        wanted = stat.S_IMODE(mode) | (0o700 if stat.S_ISDIR(mode) else 0o600)
        if wanted == stat.S_IMODE(mode):
            return False
        path.chmod(wanted)
    except OSError:
        return False
    return True


def give_back(path: Path, depth: int = _DEPTH) -> bool:
    """Let the owner read and write a folder and what is in it; whether any right was missing and is there now.

    Links are not followed: what they lead to is none of the platform's.
    """
    given = _grant(path)
    try:
        inside = list(path.iterdir()) if depth > 0 and path.is_dir() and not path.is_symlink() else []
    except OSError:
        return given
    # Of every one of them, not only up to the first.
    return any([given, *[give_back(each, depth - 1) for each in inside]])
