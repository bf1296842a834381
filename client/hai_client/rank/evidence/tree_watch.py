"""Watches the places of checkpoints with inotify, so that every change below them is noticed at once.

The folder in which the job works is watched too: there only files with the names of checkpoints count. So a quick save
into a folder that nobody has named is heard, though no look ever finds its file open.
"""
# ruff: noqa: PTH112, PTH119, PTH120, PTH123
# Importing pathlib or threading costs milliseconds at every start.

from __future__ import annotations

import _thread
import os
import time
from collections import deque

from hai_client.linux.inotify import (
    CLOSE_WRITE,
    CREATE,
    DELETE,
    IGNORED,
    MOVE_SELF,
    MOVED_FROM,
    MOVED_TO,
    OVERFLOW,
    FileEvent,
    Inotify,
)
from hai_client.rank.evidence.complete import Facts, Habits, quiet_needed
from hai_client.rank.evidence.judging import (
    PROGRAM_FOLDERS,
    RECORD_FOLDERS,
    is_below,
    is_draft,
    is_record,
    looks_like_checkpoint,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

#: Most folders that are watched. With more folders some changes are not noticed at once.
MOST_FOLDERS = 1024
#: Most of them that lie in no place of checkpoints.
MOST_WIDE = 512
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
        #: Where the job works; and the folders there in which a checkpoint was heard of.
        self._wide = ""
        self._learned: set[str] = set()
        self._real_roots: set[str] = set()
        self._hears_wide = False
        #: Files that grow and are no checkpoints: they are not heard of.
        self.records: set[str] = set()
        #: When files were last closed after writing, or renamed into place, monotonic seconds.
        self.closed: dict[str, float] = {}
        #: Of files and folders that were renamed into place: the path and when, nanoseconds since the epoch.
        self.came: list[tuple[str, int]] = []
        #: Checkpoints that were heard of outside of the places, or drafts of them.
        self.elsewhere: list[str] = []
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

    def listen(self, places: Iterable[str], wide: str = "") -> None:
        """Begin to watch some places with all folders below them, and the folder in which the job works."""
        self._roots, self._wide = tuple(places), wide
        self._awaited = list(self._roots)
        if not self._roots and not wide:
            return
        try:
            self._inotify = Inotify()
        except (OSError, AttributeError):
            # This user has too many inotify instances, or the kernel has none: only regular looks find files then.
            return
        self._find_roots(came=False)
        if wide:
            self._real_roots = {os.path.realpath(root) for root in self._roots}
            self._hears_wide = self._alone or _is_local(wide)
            self._walk(wide, came=False)

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
        if is_record(name) or name in RECORD_FOLDERS or event.path in self.records:
            return
        if event.kind & MOVED_TO:
            self.came.append((event.path, time.time_ns()))
        if not self._counts(event, name):
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

    def _counts(self, event: FileEvent, name: str) -> bool:
        """Return whether an event is one of a place of checkpoints, or of a checkpoint elsewhere."""
        if is_below(event.path, self._roots):
            return True
        if event.is_folder:
            if event.kind & (CREATE | MOVED_TO) and _may_hold(name):
                self._folders.append(event.path)
            return False
        if not looks_like_checkpoint(name):
            return False
        self._learned.add(os.path.dirname(event.path))
        if event.kind & (CLOSE_WRITE | MOVED_TO):
            self.elsewhere.append(event.path)
        return True

    def hears(self, folders: Iterable[str]) -> bool:
        """Return whether all of some folders outside of the places are watched."""
        return all(self._hears_wide and folder in self._learned for folder in folders)

    def _note(self, event: FileEvent, now: float) -> None:
        """Note what was made, closed, or renamed to a path."""
        if event.kind & MOVED_TO and event.cookie == self._open_rename:
            self._habits.renamed_open(event.path, now)
        elif event.kind & (MOVED_TO | CLOSE_WRITE):
            if len(self.closed) >= MOST_DRAFTS:
                self.closed.clear()
            self.closed[event.path] = now
            self._habits.written(event.path, now)
        elif event.is_folder:
            self._habits.touched(now)
        else:
            self._habits.begun(event.path, now)

    def _walk(self, top: str, *, came: bool) -> None:
        """Watch a folder and the folders below it. Files made before the watch come without an event."""
        ends = time.monotonic() + WALK_S
        waiting = deque([(top, top in self._roots or top == self._wide)])
        while waiting:
            # Those above first: the limits leave out the deepest.
            folder, is_root = waiting.popleft()
            wide = not is_below(folder, self._roots)
            most = MOST_WIDE if wide else MOST_FOLDERS
            if self._inotify is None or len(self._inotify) >= most or time.monotonic() >= ends:
                self._deaf = self._deaf or not wide
                return
            if not self._inotify.add(folder, follow=is_root):
                # The folder is gone again, or there are too many watches.
                self._deaf = self._deaf or (not wide and os.path.isdir(folder))
                continue
            self._look_into(folder, waiting, came=came, wide=wide)

    def _look_into(self, folder: str, waiting: deque[tuple[str, bool]], *, came: bool, wide: bool) -> None:
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name not in RECORD_FOLDERS and not (wide and self._is_left_out(entry)):
                            waiting.append((entry.path, False))
                    elif came and not is_record(entry.name) and not (wide and not looks_like_checkpoint(entry.name)):
                        with self._lock:
                            self._habits.found(entry.path, time.monotonic())
                            if wide:
                                self._learned.add(folder)
                                self.elsewhere.append(entry.path)
        except OSError:
            return

    def _is_left_out(self, entry: os.DirEntry[str]) -> bool:
        # A place of checkpoints is watched already, by the path that it was named by.
        return not _may_hold(entry.name) or os.path.realpath(entry.path) in self._real_roots


def _may_hold(name: str) -> bool:
    """Return whether a folder of that name, where the job works, may hold checkpoints."""
    return name not in PROGRAM_FOLDERS and not name.startswith(".")


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
