"""Hearing of every change below the places of checkpoints at once, where the kernel tells (inotify)."""
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
    Event,
    Inotify,
)
from hai_client.rank.saves import RECORD_FOLDERS, is_below, is_draft, is_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

#: More folders are not watched: of those that are there at first, and later. Then not everything is heard.
MOST_FOLDERS = 1024
#: How long the folders that are there at first may take, seconds.
WALK_S = 2.0
#: More leftovers are as good as one.
MOST_DRAFTS = 1000
#: File systems that only this machine writes to.
LOCAL = frozenset(
    {"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "ramfs", "reiserfs", "tmpfs", "xfs", "zfs"}
)
MOUNTS = "/proc/self/mountinfo"


class Ears:
    """What is heard of changes below some places; with each, whether that is all there is to hear.

    `take` may be called from any thread: it never waits for a file system. The others are for the thread that looks.

    Args:
        alone: Whether no other node writes to these places, whatever file system they are on.
    """

    def __init__(self, *, alone: bool) -> None:
        self._alone = alone
        self._habits = Habits()
        self._lock = _thread.allocate_lock()
        self._roots: tuple[str, ...] = ()
        #: Roots that are not there yet.
        self._awaited: list[str] = []
        self._folders: list[str] = []
        #: What has the name of a draft and was neither renamed nor removed since.
        self._drafts: set[str] = set()
        self._deaf = False
        #: How many changes were heard of.
        self.count = 0
        self._inotify: Inotify | None = None

    @property
    def fd(self) -> int | None:
        """Becomes readable when there is something to take; None: nothing is ever heard."""
        return None if self._inotify is None else self._inotify.fd

    def listen(self, places: Iterable[str]) -> None:
        """Begin to listen at some places, which are heard of with all that is below them."""
        self._roots = tuple(places)
        self._awaited = list(self._roots)
        if not self._roots:
            return
        try:
            self._inotify = Inotify()
        except (OSError, AttributeError):
            # This user has too many of them, or the kernel has none: files are looked at from time to time.
            return
        self._find_roots(came=False)

    def step(self) -> None:
        """Listen at what has come of late. May wait for its file system."""
        if self._inotify is None:
            return
        self.take()
        with self._lock:
            new, self._folders = self._folders, []
        for folder in new:
            self._walk(folder, came=True)
        self._find_roots(came=True)

    def close(self) -> None:
        """Hear nothing more."""
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
                # A file is watched, or a link leads nowhere.
                self._awaited.remove(root)
                self._deaf = True

    def take(self) -> None:
        """Hear what there is to hear."""
        now = time.monotonic()
        with self._lock:
            if self._inotify is not None:
                for event in self._inotify.read():
                    self._hear(event, now)

    def quiet_needed(self, *, elsewhere: bool) -> float:
        """For how long nothing must have changed for the newest checkpoint to be complete, seconds.

        Args:
            elsewhere: Whether checkpoints are written to other places as well.
        """
        with self._lock:
            everything = not (elsewhere or self._deaf or self._folders or self._awaited or self._inotify is None)
            facts = Facts(as_before=self._habits.as_before(), draft=bool(self._drafts), everything=everything)
            return quiet_needed(facts)

    def quiet_for(self, now: float) -> float:
        """For how long nothing was heard, seconds (now: monotonic seconds)."""
        return now - self._habits.changed_at

    def _hear(self, event: Event, now: float) -> None:
        if event.kind & OVERFLOW:
            self._deaf = True
            return
        if event.kind & (IGNORED | MOVE_SELF):
            # Of another folder the one above has told.
            self._deaf = self._deaf or event.path in self._roots
            return
        name = os.path.basename(event.path)
        if is_record(name) or name in RECORD_FOLDERS:
            return
        self.count += 1
        if event.kind & (MOVED_FROM | DELETE):
            self._habits.removed(event.path, now)
            self._drafts -= {one for one in self._drafts if is_below(one, (event.path,))}
            return
        if event.is_folder:
            self._folders.append(event.path)
        if event.kind & (MOVED_TO | CLOSE_WRITE):
            self._habits.written(event.path, now)
        else:
            self._habits.touched(now)
        if is_draft(name) and len(self._drafts) < MOST_DRAFTS:
            self._drafts.add(event.path)

    def _walk(self, top: str, *, came: bool) -> None:
        """Listen at a folder and those below it; what is there before that was not heard of."""
        ends = time.monotonic() + WALK_S
        waiting = [(top, top in self._roots)]
        while waiting:
            folder, is_root = waiting.pop()
            if self._inotify is None or len(self._inotify) >= MOST_FOLDERS or time.monotonic() >= ends:
                self._deaf = True
                return
            if not self._inotify.add(folder, follow=is_root):
                # It is gone again, or there are too many.
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
    """Whether only this machine writes to the file system of a path, as far as is known."""
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
