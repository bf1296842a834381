"""Looks for the newest file below some folders, a little at a time: there may be 100,000, on a slow server."""
# ruff: noqa: PTH116, PTH120
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import os
import time
from collections import OrderedDict

from hai_client.rank.saves import RECORD_FOLDERS, is_record, looks_like_checkpoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: How many of the newest files, with their folders, every look begins with.
HOT = 16
#: Most entries of such a folder that are looked at.
HOT_ENTRIES = 500


class Found:
    """A file as it was last seen. Times are nanoseconds since the epoch, sizes bytes.

    `at` is the file's own time, but never later than the moment it was seen, as clocks of file servers differ.
    """

    __slots__ = ("at", "inode", "mtime", "path", "size")

    def __init__(self, path: str, mtime: int, size: int, inode: int, now: int) -> None:
        self.path = path
        self.mtime = mtime
        self.size = size
        self.inode = inode
        self.at = min(mtime, now)


class Sweep:
    """Passes over folders and files; each look goes on where the one before had to stop.

    Args:
        since: Only newer files count, nanoseconds since the epoch.
        own: Returns whether this rank is known to write a file.
    """

    def __init__(self, since: int, own: Callable[[str], bool]) -> None:
        self._since = since
        self._own = own
        self._roots: list[str] = []
        #: Folders in which only files with the name of a checkpoint count; folders below them are not searched.
        self._learned: OrderedDict[str, None] = OrderedDict()
        self._files: OrderedDict[str, Found] = OrderedDict()
        self._pass: Iterator[None] | None = None
        #: When a file that this rank does not write was last seen to grow (monotonic seconds).
        self.grown_at = float("-inf")
        #: The time of the file then, nanoseconds since the epoch.
        self.grown_to = 0
        #: Number of completed passes.
        self.passes = 0

    def add(self, path: str) -> None:
        """Add a folder to search, or a file to look at."""
        if path not in self._roots:
            self._roots.append(path)

    def learn(self, folder: str) -> None:
        """Add a folder outside the places of checkpoints in which a checkpoint was written."""
        self._learned[folder] = None
        self._learned.move_to_end(folder)
        while len(self._learned) > HOT:
            self._learned.popitem(last=False)

    @property
    def learned(self) -> bool:
        """Whether checkpoints are written outside the places of checkpoints."""
        return not all(self._is_inside(folder) for folder in self._learned)

    @property
    def files(self) -> list[Found]:
        """The newest files that were seen, the newest last."""
        return sorted(self._files.values(), key=lambda file: file.at)

    def look(self, entries: int, seconds: float) -> bool:
        """Look at some entries, the newest files of before first; return whether this completed a pass over all.

        Args:
            entries: Most entries to look at.
            seconds: Longest time.
        """
        begin = time.monotonic()
        for count, _ in enumerate(self._hot(), 1):
            # At most half of the look, or the pass would make no progress.
            if count >= entries // 2 or time.monotonic() - begin >= seconds / 2:
                break
        if self._pass is None:
            self._pass = self._everything()
        for _ in self._pass:
            entries -= 1
            if entries <= 0 or time.monotonic() - begin >= seconds:
                return False
        self._pass = None
        self.passes += 1
        return True

    def complete(self, seconds: float) -> bool:
        """Make a whole pass, at most `seconds` long; return whether it was completed."""
        self._pass = None
        return self.look(1 << 60, seconds)

    def _hot(self) -> Iterator[None]:
        """Look at the newest files and their folders, and at recently changed folders directly below the roots."""
        newest = self.files[-HOT:]
        for file in newest:
            self._see(file.path)
            yield
        folders = list(OrderedDict.fromkeys(os.path.dirname(file.path) for file in reversed(newest)))
        above = [os.path.dirname(folder) for folder in folders]
        places = [folder for folder in [*folders, *above] if folder in self._learned or self._is_inside(folder)]
        for folder in OrderedDict.fromkeys([*places, *self._roots]):
            below: list[str] = []
            yield from self._folder(folder, limit=HOT_ENTRIES, below=below)
            for path in below[:HOT_ENTRIES]:
                if path not in folders and self._is_new(path):
                    yield from self._folder(path, limit=HOT_ENTRIES, below=[])
                yield

    def _is_new(self, path: str) -> bool:
        """Return whether an entry was made in a folder, or removed from it, since the run began."""
        try:
            return os.stat(path).st_mtime_ns > self._since
        except OSError:
            return False

    def _is_inside(self, path: str) -> bool:
        return any(path == root or path.startswith(f"{root}/") for root in self._roots)

    def _everything(self) -> Iterator[None]:
        for folder in list(self._learned):
            yield from self._folder(folder, limit=HOT_ENTRIES * HOT, below=[])
        waiting = list(self._roots)
        while waiting:
            yield from self._folder(waiting.pop(), limit=1 << 60, below=waiting)

    def _folder(self, path: str, *, limit: int, below: list[str]) -> Iterator[None]:
        """Look at the entries of a folder, at most `limit`; add its folders to `below`. A root may be a file."""
        only_checkpoints = path in self._learned and not self._is_inside(path)
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    limit -= 1
                    if limit < 0:
                        return
                    self._take(entry, below, only_checkpoints=only_checkpoints)
                    yield
        except NotADirectoryError:
            self._see(path)
            yield
        except OSError:
            return

    def _take(self, entry: os.DirEntry[str], below: list[str], *, only_checkpoints: bool) -> None:
        try:
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in RECORD_FOLDERS:
                    below.append(entry.path)
            elif (
                entry.is_file(follow_symlinks=False)
                and not is_record(entry.name)
                and (not only_checkpoints or looks_like_checkpoint(entry.name))
            ):
                self._note(entry.path, entry.stat(follow_symlinks=False))
        except OSError:
            return

    def _see(self, path: str) -> None:
        try:
            self._note(path, os.stat(path))
        except OSError:
            self._files.pop(path, None)

    def _note(self, path: str, stat: os.stat_result) -> None:
        if stat.st_mtime_ns <= self._since:
            return
        known = self._files.get(path)
        if known is not None and known.inode == stat.st_ino:
            if (known.mtime, known.size) == (stat.st_mtime_ns, stat.st_size):
                return
            if stat.st_size > known.size and not self._own(path):
                self.grown_at, self.grown_to = time.monotonic(), stat.st_mtime_ns
        self._files[path] = Found(path, stat.st_mtime_ns, stat.st_size, stat.st_ino, time.time_ns())
        self._files.move_to_end(path)
        if len(self._files) > 4 * HOT:
            oldest = min(self._files.values(), key=lambda file: file.at)
            del self._files[oldest.path]
