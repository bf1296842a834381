"""Rights of what others may read: they do not depend on the umask of the shell that started the platform.

A umask only takes rights away. So what is for its owner alone is made with that mode. What others may enter or read
gets the rights that the umask took.
"""
# ruff: noqa: PTH102, PTH112, PTH120
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import contextlib
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Union

    StrPath = Union[str, os.PathLike[str]]


def make_folder(path: StrPath, mode: int = 0o755, *, above: int = 0o755) -> bool:
    """Make a folder with these rights. One that is there stays as it is. Raises OSError.

    Args:
        path: The folder.
        mode: Its rights.
        above: The rights of folders above it that are missing. Who may write there could put another in its place.

    Returns:
        Whether it was made.
    """
    path = os.fspath(path)
    if os.path.isdir(path):
        return False
    parent = os.path.dirname(path)
    if parent:
        make_folder(parent, above, above=above)
    try:
        os.mkdir(path, mode)
    except FileExistsError:
        # Another process has made it at the same time.
        if not os.path.isdir(path):
            raise
        return False
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        give_rights(descriptor, mode)
    finally:
        os.close(descriptor)
    return True


def give_rights(descriptor: int, mode: int) -> None:
    """Give a new file or folder the rights of `mode` that the umask took from it. Raises OSError."""
    now = stat.S_IMODE(os.fstat(descriptor).st_mode)
    if mode & ~now:
        # Some file systems have rights of their own and take no others.
        with contextlib.suppress(PermissionError):
            os.fchmod(descriptor, now | mode)
