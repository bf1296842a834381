"""Observes the files that a run writes and reads below some folders, with inotify(7).

Comparing times would not be enough: a file system need not keep access times, and a small checkpoint is written and
closed between two looks. The kernel does not report what other machines do to a shared folder.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import struct
import threading
import time

from hai_client.rank.evidence.judging import PROGRAM_FOLDERS
from hai_client.rank.evidence.sweep import Found, seen

ACCESS, CLOSE_WRITE, CLOSE_NOWRITE = 0x1, 0x8, 0x10
MOVED_TO, CREATE, OVERFLOW, ISDIR = 0x80, 0x100, 0x4000, 0x40000000
_WANTED = ACCESS | CLOSE_WRITE | CLOSE_NOWRITE | MOVED_TO | CREATE
_ONLYDIR = 0x01000000
_HEAD = struct.Struct("iIII")
#: Limit of watched folders: a home folder may have millions.
MOST_FOLDERS = 4096

_libc = ctypes.CDLL(None, use_errno=True)


class FolderWatcher:
    """Watches folders in a thread until it is closed.

    Args:
        roots: Folders that are watched with all folders below them.
        wide: Folders that are watched without the hidden folders in them.
        folders: Folders that are watched without the folders below them.

    Attributes:
        written: Path to the times (seconds since the epoch) at which it was closed after writing, or came into place.
        moved: Path to the last time at which it was renamed into place, alone or with its folder.
        read: Path to the first time at which it was read, or opened for reading and closed.
        sizes: Path to its sizes in bytes after these times, as far as it was there to look at.
        found: Path to the file as it was last seen, with what is known of how it changes.
        incomplete: A sentence on what could not be watched; empty if everything could.
    """

    def __init__(self, roots: list[str], *, wide: list[str], folders: list[str]) -> None:
        self.written: dict[str, list[float]] = {}
        self.moved: dict[str, float] = {}
        self.sizes: dict[str, list[tuple[float, int]]] = {}
        self.found: dict[str, Found] = {}
        self.read: dict[str, float] = {}
        self.incomplete = ""
        self._paths: dict[int, str] = {}
        self._fd = _libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if self._fd < 0:
            self.incomplete = f"files could not be watched ({os.strerror(ctypes.get_errno())})"
        for root in wide:
            self._add_tree(root, hidden=False)
        for root in roots:
            self._add_tree(root)
        for folder in folders:
            self.add(folder)
        self._end, self._stop = os.pipe()
        self._thread = threading.Thread(target=self._run, name="rehearsal-files", daemon=True)
        self._thread.start()

    @property
    def folders(self) -> list[str]:
        """Return the watched folders."""
        return sorted(set(self._paths.values()))

    def add(self, folder: str) -> None:
        """Watch one more folder, without the folders below it."""
        if self._fd < 0:
            return
        if len(self._paths) >= MOST_FOLDERS:
            self.incomplete = f"only {MOST_FOLDERS} folders were watched; name the one with --watch PATH"
            return
        number = _libc.inotify_add_watch(self._fd, os.fsencode(folder), _WANTED | _ONLYDIR)
        if number >= 0:
            self._paths[number] = folder

    def close(self) -> None:
        """Read the remaining events of the kernel, and stop."""
        os.write(self._stop, b"\0")
        self._thread.join()
        for fd in (self._end, self._stop, self._fd):
            if fd >= 0:
                os.close(fd)

    def _add_tree(self, root: str, *, hidden: bool = True, since: float | None = None) -> None:
        """Watch a folder and those below it.

        Args:
            root: The folder.
            hidden: Whether hidden folders may hold checkpoints; one that appears while a run writes is a draft.
            since: For a new folder: its files count as written at this time.
        """
        for folder, below, names in os.walk(root):
            below[:] = [name for name in below if _may_hold(folder, name, hidden=hidden)]
            self.add(folder)
            if since is not None:
                for name in names:
                    self._note(os.path.join(folder, name), since, moved=True)  # noqa: PTH118
            if len(self._paths) >= MOST_FOLDERS:
                return

    def _run(self) -> None:
        poll = select.poll()
        poll.register(self._end, select.POLLIN)
        if self._fd >= 0:
            poll.register(self._fd, select.POLLIN)
        while True:
            ready = [fd for fd, _ in poll.poll()]
            self._take()
            if self._end in ready:
                return

    def _take(self) -> None:
        while self._fd >= 0:
            try:
                data = os.read(self._fd, 1 << 16)
            except BlockingIOError:
                return
            now = time.time()
            at = 0
            while at < len(data):
                number, mask, _, length = _HEAD.unpack_from(data, at)
                name = os.fsdecode(data[at + _HEAD.size : at + _HEAD.size + length].rstrip(b"\0"))
                at += _HEAD.size + length
                self._event(number, mask, name, now)

    def _event(self, number: int, mask: int, name: str, now: float) -> None:
        if mask & OVERFLOW:
            self.incomplete = "more happened to files at once than the kernel tells; some of it was missed"
        folder = self._paths.get(number)
        if folder is None or not name:
            return
        path = os.path.join(folder, name)  # noqa: PTH118
        if mask & ISDIR:
            if mask & (CREATE | MOVED_TO) and _may_hold(folder, name, hidden=True):
                self._add_tree(path, since=now)
        elif mask & (CLOSE_WRITE | MOVED_TO):
            self._note(path, now, moved=bool(mask & MOVED_TO))
        elif mask & (ACCESS | CLOSE_NOWRITE) and path not in self.written:
            # A run that reads what it has just written resumes from nothing.
            self.read.setdefault(path, now)

    def _note(self, path: str, now: float, *, moved: bool) -> None:
        self.written.setdefault(path, []).append(now)
        with contextlib.suppress(OSError):
            file = self.found[path] = seen(path, os.stat(path), self.found.get(path))  # noqa: PTH116
            self.sizes.setdefault(path, []).append((now, file.size))
        if moved:
            self.moved[path] = now


def _may_hold(folder: str, name: str, *, hidden: bool) -> bool:
    if name in PROGRAM_FOLDERS or (name.startswith(".") and not hidden):
        return False
    return not os.path.exists(os.path.join(folder, name, "pyvenv.cfg"))  # noqa: PTH110, PTH118
