"""Watches the places of checkpoints with inotify, so that every change below them is noticed at once."""
# ruff: noqa: PTH112, PTH119, PTH123
# Importing pathlib or threading costs milliseconds at every start.

from __future__ import annotations

import _thread
import os
import time

from hai_client.rank.complete import Facts, Habits, quiet_needed
from hai_client.rank.inotify import (
    CLOSE_WRITE,
    DELETE,
    IGNORED,
    MOVE_SELF,
    MOVED_FROM,
    MOVED_TO,
    OVERFLOW,
    FileEvent,
    Inotify,
)
from hai_client.rank.saves import RECORD_FOLDERS, is_below, is_draft, is_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

#: Most folders that are watched. With more folders some changes are not noticed at once.
MOST_FOLDERS = 1024
#: How long it may take to watch the folders that are there at first, seconds.
WALK_S = 2.0
#: Most drafts that are remembered: a single one is enough to demand a longer wait.
MOST_DRAFTS = 1000
#: File systems that only this machine writes to.
LOCAL = frozenset(
    {"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "ramfs", "reiserfs", "tmpfs", "xfs", "zfs"}
)
MOUNTS = "/proc/self/mountinfo"


class TreeWatch:
    """Watches for changes below some places, and knows whether it notices all of them.

    `take` may be called from any thread: it never waits for a file system. The other methods are for the thread that
    looks at file systems.

    Args:
        alone: Whether no other node writes to these places, on any file system.
    """

    def __init__(self, *, alone: bool) -> None:
        self._alone = alone
        self._habits = Habits()
        self._lock = _thread.allocate_lock()
        self._roots: tuple[str, ...] = ()
        #: Roots that do not exist yet.
        self._awaited: list[str] = []
        self._folders: list[str] = []
        #: Paths with the name of a draft that were not renamed or removed since.
        self._drafts: set[str] = set()
        #: Cookie of the last rename of a file that may still have been open; 0: there was none.
        self._open_rename = 0
        self._deaf = False
        #: Number of changes that were noticed.
        self.count = 0
        self._inotify: Inotify | None = None

    @property
    def fd(self) -> int | None:
        """File descriptor that becomes readable when there are changes to take; None: no watch is possible."""
        return None if self._inotify is None else self._inotify.fd

    def listen(self, places: Iterable[str]) -> None:
        """Begin to watch some places with all folders below them."""
        self._roots = tuple(places)
        self._awaited = list(self._roots)
        if not self._roots:
            return
        try:
            self._inotify = Inotify()
        except (OSError, AttributeError):
            # This user has too many inotify instances, or the kernel has none: only regular looks find files then.
            return
        self._find_roots(came=False)

    def step(self) -> None:
        """Watch new folders too. May wait for their file system."""
        if self._inotify is None:
            return
        self.take()
        with self._lock:
            new, self._folders = self._folders, []
        for folder in new:
            self._walk(folder, came=True)
        self._find_roots(came=True)

    def close(self) -> None:
        """Stop the watch."""
        with self._lock:
            if self._inotify is not None:
                self._inotify.close()
                self._inotify = None

    def _find_roots(self, *, came: bool) -> None:
        for root in list(self._awaited):
            if os.path.isdir(root):
                self._awaited.remove(root)
                self._walk(root, came=came)
                self._deaf = self._deaf or not (self._alone or _is_local(root))
            elif os.path.lexists(root):
                # The root is a file, or a link to nothing: changes of it are not noticed.
                self._awaited.remove(root)
                self._deaf = True

    def take(self) -> None:
        """Take the changes that the kernel has reported by now."""
        now = time.monotonic()
        with self._lock:
            if self._inotify is not None:
                for event in self._inotify.read():
                    self._hear(event, now)

    def quiet_needed(self, *, elsewhere: bool, indexed: bool | None) -> float:
        """Return how long the newest checkpoint must be unchanged to count as complete, seconds.

        Args:
            elsewhere: Whether checkpoints are written to other places as well.
            indexed: Whether the checkpoint is in the index of its framework; None: there is none.
        """
        with self._lock:
            everything = not (elsewhere or self._deaf or self._folders or self._awaited or self._inotify is None)
            as_before, draft = self._habits.as_before(), bool(self._drafts)
            return quiet_needed(Facts(as_before=as_before, draft=draft, everything=everything, indexed=indexed))

    def quiet_for(self, now: float) -> float:
        """Return how long ago the last change was noticed, seconds (now: monotonic seconds)."""
        return now - self._habits.changed_at

    def _hear(self, event: FileEvent, now: float) -> None:
        if event.kind & OVERFLOW:
            self._deaf = True
            return
        if event.kind & (IGNORED | MOVE_SELF):
            # For any other folder, the event of its parent folder is enough.
            self._deaf = self._deaf or event.path in self._roots
            return
        name = os.path.basename(event.path)
        if is_record(name) or name in RECORD_FOLDERS:
            return
        self.count += 1
        if event.kind & (MOVED_FROM | DELETE):
            if self._habits.removed(event.path, now) and event.kind & MOVED_FROM:
                self._open_rename = event.cookie
            self._drafts -= {one for one in self._drafts if is_below(one, (event.path,))}
            return
        if event.is_folder:
            self._folders.append(event.path)
        self._note(event, now)
        if is_draft(name) and len(self._drafts) < MOST_DRAFTS:
            self._drafts.add(event.path)

    def _note(self, event: FileEvent, now: float) -> None:
        """Note what was made, closed, or renamed to a path."""
        if event.kind & MOVED_TO and event.cookie == self._open_rename:
            self._habits.renamed_open(event.path, now)
        elif event.kind & (MOVED_TO | CLOSE_WRITE):
            self._habits.written(event.path, now)
        elif event.is_folder:
            self._habits.touched(now)
        else:
            self._habits.begun(event.path, now)

    def _walk(self, top: str, *, came: bool) -> None:
        """Watch a folder and the folders below it. Files made before the watch come without an event."""
        ends = time.monotonic() + WALK_S
        waiting = [(top, top in self._roots)]
        while waiting:
            folder, is_root = waiting.pop()
            if self._inotify is None or len(self._inotify) >= MOST_FOLDERS or time.monotonic() >= ends:
                self._deaf = True
                return
            if not self._inotify.add(folder, follow=is_root):
                # The folder is gone again, or there are too many watches.
                self._deaf = self._deaf or os.path.isdir(folder)
                continue
            self._look_into(folder, waiting, came=came)

    def _look_into(self, folder: str, waiting: list[tuple[str, bool]], *, came: bool) -> None:
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name not in RECORD_FOLDERS:
                            waiting.append((entry.path, False))
                    elif came and not is_record(entry.name):
                        with self._lock:
                            self._habits.found(entry.path, time.monotonic())
        except OSError:
            return


def _is_local(path: str) -> bool:
    """Return whether the file system of a path is known as one that only this machine writes to."""
    path = os.path.realpath(path)
    best, kind = "", ""
    try:
        with open(MOUNTS, encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                before, _, after = line.partition(" - ")
                place = before.split()[4].replace("\\040", " ")
                if is_below(path, (place,)) and len(place) >= len(best):
                    best, kind = place, after.split()[0]
    except (OSError, IndexError):
        return False
    return kind in LOCAL
