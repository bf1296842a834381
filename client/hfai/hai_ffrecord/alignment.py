"""What the file system says of aligned reading."""

from __future__ import annotations

import fcntl

#: The request of the original's file system, 3FS.
_CHECK_ALIGN = 2147772004


def check_fs_align(fd: int) -> bool:
    """Whether a file lies on a file system (3FS) that asks for aligned reads past the page cache.

    The original then opens the file with O_DIRECT. This reader does not: it reads through the page cache everywhere.

    Args:
        fd: an open file.
    """
    answer = bytearray(4)
    try:
        fcntl.ioctl(fd, _CHECK_ALIGN, answer)
    except OSError:
        return False
    return int.from_bytes(answer, "little") == 1
