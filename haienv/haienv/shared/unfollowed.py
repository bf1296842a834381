"""Change and remove folders that others may write to.

Between a look at a name and what is done with it, another process may put a link there. So a folder is held by a
descriptor, and changed through that: no link is followed, whenever it came.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from contextlib import ExitStack, contextmanager, suppress
from typing import Iterator

#: A folder itself, also one that gives its owner no right. It can be held, not read.
_HOLD = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def held(folder: str | os.PathLike[str], *, dir_fd: int | None = None) -> Iterator[int]:
    """Hold a folder. Raises OSError, for a link as well.

    Args:
        folder: Its path, of which only the last name is not followed: who may write above it is trusted.
        dir_fd: A folder that the path begins in.
    """
    fd = os.open(folder, _HOLD, dir_fd=dir_fd)
    try:
        yield fd
    finally:
        os.close(fd)


def set_mode(fd: int, mode: int) -> None:
    """Set the mode of a folder that is held. Raises OSError."""
    os.chmod(_itself(fd), mode)


def set_owner(fd: int, uid: int, gid: int) -> None:
    """Set the owner and the group of a folder that is held; -1 leaves one as it is. Raises OSError."""
    os.chown(_itself(fd), uid, gid)


def remove_tree(folder: str | os.PathLike[str]) -> None:
    """Remove a folder with all that is below it, however deep, whatever rights of its owner are missing.

    Does nothing if there is none. Links in it are removed, and their targets are not.

    Raises:
        OSError: Something is left: a right of another account is missing, or others put more into it meanwhile.
    """
    with ExitStack() as stack:
        try:
            top = stack.enter_context(held(folder))
        except (FileNotFoundError, NotADirectoryError):
            return
        _empty(top)
    os.rmdir(folder)


def _empty(top: int) -> None:
    """Remove what is in a folder. Folders below are moved up into it, so that no path grows long and none is walked."""
    moved = 0
    left = deque(_clear(top))
    while left:
        name = left.popleft()
        with held(name, dir_fd=top) as fd:
            for below in _clear(fd):
                with held(below, dir_fd=fd) as inner:
                    # To move a folder changes it: its `..` is another one then.
                    _open_up(inner)
                while True:
                    moved += 1
                    aside = f"{moved:x}"
                    with suppress(FileExistsError):
                        os.mkdir(aside, 0o700, dir_fd=top)
                        break
                # A folder takes the place of an empty one: nothing else is ever replaced.
                os.rename(below, aside, src_dir_fd=fd, dst_dir_fd=top)
                left.append(aside)
        os.rmdir(name, dir_fd=top)


def _clear(fd: int) -> list[str]:
    """Remove all but the folders in a folder that is held, and return their names."""
    _open_up(fd)
    readable = os.open(_itself(fd), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with os.scandir(readable) as entries:
            found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    finally:
        os.close(readable)
    for name, is_folder in found:
        if not is_folder:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=fd)
    return [name for name, is_folder in found if is_folder]


def _open_up(fd: int) -> None:
    mode = stat.S_IMODE(os.fstat(fd).st_mode)
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        set_mode(fd, mode | stat.S_IRWXU)


def _itself(fd: int) -> str:
    """Return a path that the kernel takes for the folder that is held, wherever its name leads meanwhile."""
    return f"/proc/self/fd/{fd}"
