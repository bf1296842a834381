"""Restores the owner's rights on the folders of runs, which a job or a user may have removed.

The owner is the user of this process.
"""

from __future__ import annotations

import logging
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

log = logging.getLogger(__name__)

#: How deep the platform's own folders go: task, run, rank, `runtime`, `reports`.
_DEPTH: Final = 5
#: Folders from a rank up to its task.
_HEIGHT: Final = 2

T = TypeVar("T")


def with_rights(path: Path, do: Callable[[], T]) -> T:
    """Call `do` and return its result; if a right is missing, restore the owner's rights and call it once more.

    Args:
        path: The folder.
        do: The work on the folder. It must be idempotent, because it may be called twice.

    Raises:
        OSError: The work fails again, or for another reason than a missing right.
    """
    try:
        return do()
    except PermissionError as error:
        # Both calls: folders above may have to be opened before the folder itself can be.
        if not any([_open_way(path), give_back(path)]):
            raise
        log.warning("%s: %s; the rights of its owner have been restored", path, error.strerror)
        return do()


def _open_way(path: Path, height: int = _HEIGHT) -> bool:
    """Give the owner the right to pass through the folders above. Returns whether one was closed and now is open."""
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
    """Restore the owner's rights on a folder or a file. Returns whether any was missing. Skips links and devices."""
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
    """Restore the owner's rights on a folder and on all in it. Returns whether any right was missing and was restored.

    Links are not followed, because their targets do not belong to the platform.
    """
    given = _grant(path)
    try:
        inside = list(path.iterdir()) if depth > 0 and path.is_dir() and not path.is_symlink() else []
    except OSError:
        return given
    # A list, so that `give_back` is called for every entry and not only up to the first success.
    return any([given, *[give_back(each, depth - 1) for each in inside]])
