"""Reads the kernel's events on changes in folders (inotify(7)), from any thread, without waiting for a file system.

The kernel reports changes by this machine only; other machines may change a network file system too.
"""

from __future__ import annotations

import _thread
import ctypes
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

ACCESS, MODIFY, CLOSE_NOWRITE, OPEN = 0x1, 0x2, 0x10, 0x20
CLOSE_WRITE, MOVED_FROM, MOVED_TO, CREATE, DELETE = 0x8, 0x40, 0x80, 0x100, 0x200
MOVE_SELF, OVERFLOW, IGNORED, ISDIR = 0x800, 0x4000, 0x8000, 0x40000000
_WANTED = CLOSE_WRITE | MOVED_FROM | MOVED_TO | CREATE | DELETE | MOVE_SELF
_ONLYDIR, _DONT_FOLLOW = 0x01000000, 0x02000000
_HEAD = struct.Struct("iIII")
READ_BYTES = 1 << 16


class FileEvent:
    """A change of a path. `kind` is a set of the bits above; both events of a rename have the same `cookie`, else 0."""

    __slots__ = ("cookie", "kind", "path")

    def __init__(self, path: str, kind: int, cookie: int = 0) -> None:
        self.path = path
        self.kind = kind
        self.cookie = cookie

    @property
    def is_folder(self) -> bool:
        """Whether the path is a folder."""
        return bool(self.kind & ISDIR)


class Inotify:
    """An inotify instance.

    Raises:
        OSError: This user has too many instances already, or the kernel has no inotify.
    """

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self.fd: int = self._libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        self._paths: dict[int, str] = {}
        self._lock = _thread.allocate_lock()

    def __len__(self) -> int:
        return len(self._paths)

    def add(self, folder: str, *, follow: bool = False, mask: int = _WANTED) -> bool:
        """Watch a folder, without the folders below it; return whether that worked. May wait for its file system.

        Args:
            folder: The path. A folder that is watched under another path has this path from now on.
            follow: Whether the path may be a symbolic link.
            mask: The events to hear of.
        """
        mask |= _ONLYDIR | (0 if follow else _DONT_FOLLOW)
        number: int = self._libc.inotify_add_watch(self.fd, os.fsencode(folder), mask)
        if number < 0:
            return False
        with self._lock:
            self._paths[number] = folder
        return True

    def read(self) -> Iterator[FileEvent]:
        """Yield the events since the last call, in order.

        OVERFLOW means that events were lost; IGNORED and MOVE_SELF mean that the folder was removed or moved.
        """
        while True:
            with self._lock:
                try:
                    data = os.read(self.fd, READ_BYTES)
                except OSError:
                    return
                events = list(self._parse(data))
            yield from events

    def _parse(self, data: bytes) -> Iterator[FileEvent]:
        at = 0
        while at < len(data):
            number, kind, cookie, length = _HEAD.unpack_from(data, at)
            name = data[at + _HEAD.size : at + _HEAD.size + length].rstrip(b"\0")
            at += _HEAD.size + length
            if kind & IGNORED:
                yield FileEvent(self._paths.pop(number, ""), IGNORED)
            elif kind & MOVE_SELF:
                yield FileEvent(self._paths.get(number, ""), MOVE_SELF)
            elif kind & OVERFLOW:
                yield FileEvent("", OVERFLOW)
            elif number in self._paths:
                yield FileEvent(os.path.join(self._paths[number], os.fsdecode(name)), kind, cookie)  # noqa: PTH118

    def close(self) -> None:
        """Close the instance."""
        os.close(self.fd)
