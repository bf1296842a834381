"""Looks for the newest file below some folders, a little at a time: there may be 100,000, on a slow server."""
# ruff: noqa: PTH116, PTH119, PTH120
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import contextlib
import os
import time
from collections import OrderedDict

from hai_client.rank.evidence.judging import (
    RECORD_FOLDERS,
    FileFacts,
    is_below,
    is_draft,
    is_record,
    is_text,
    looks_like_checkpoint,
    may_be_text,
    over_time,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

#: How many of the newest files, with their folders, every look begins with.
HOT = 16
#: Most entries of such a folder that are looked at.
HOT_ENTRIES = 500
#: How many sizes of earlier files, and moments of renames, are remembered.
REMEMBERED = 1000
#: How much of a file is read to see whether it is text that grows, bytes.
HEAD_BYTES = 128


class Found:
    """A file as it was last seen. Times are nanoseconds since the epoch, sizes bytes.

    `at` is the file's own time, but never later than the moment it was seen, as clocks of file servers differ; or when
    it was renamed into place, if that was later.
    """

    __slots__ = ("at", "grows", "head", "inode", "mtime", "path", "size")

    def __init__(self, path: str, mtime: int, size: int, inode: int, now: int) -> None:
        self.path = path
        self.mtime = mtime
        self.size = size
        self.inode = inode
        self.at = min(mtime, now)
        #: Its first bytes, where they may tell whether it is a record.
        self.head = b""
        #: Whether it was seen to grow in place; None: it was seen to be replaced, so that it does not count.
        self.grows: bool | None = False

    def dated(self, at: int) -> Found:
        """Return the same file with another time. What was found is kept by others: it never changes."""
        same = Found(self.path, self.mtime, self.size, self.inode, at)
        same.at, same.head, same.grows = at, self.head, self.grows
        return same

    def follow(self, known: Found) -> None:
        """Note what the file was like when it was last seen."""
        replaced = known.inode != self.inode or self.size <= known.size or not self.head.startswith(known.head)
        self.grows = None if replaced or known.grows is None else True


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
        #: The smallest size of complete files, by what `over_time` says of their paths.
        self._sizes: OrderedDict[str, int] = OrderedDict()
        #: When files and folders were renamed into place, nanoseconds since the epoch.
        self._came: OrderedDict[str, int] = OrderedDict()
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

    def came(self, path: str, at: int) -> None:
        """Note that a file or a folder was renamed to this path: what it holds has come into place then.

        `at` is when that was heard, which may be after the notice though the rename was before it. When it really was,
        the time of the inode's last change says; a time of the content that somebody has set may be later.
        """
        with contextlib.suppress(OSError):
            inode = os.lstat(path)
            at = min(at, max(inode.st_ctime_ns, inode.st_mtime_ns))
        _remember(self._came, path, at)
        for file in [one for one in self._files.values() if is_below(one.path, (path,))]:
            # Files that were replaced are seen again at the next look.
            if file.at < at and self.is_unchanged(file):
                self._files[file.path] = file.dated(at)

    def facts(self, file: Found, *, torn: bool) -> FileFacts:
        """Return what is known of a file that was found."""
        return FileFacts(
            file.path,
            place=next((root for root in self._roots if is_below(file.path, (root,))), None),
            size=file.size,
            before=self._sizes.get(over_time(file.path)),
            moved=self._was_moved(file),
            torn=torn,
            text=bool(file.head) and is_text(file.head),
            grows=file.grows is True,
        )

    def note_complete(self, files: Iterable[Found]) -> None:
        """Remember the sizes of files that are complete: later files of these names are no shorter."""
        for file in files:
            _note_size(self._sizes, file.path, file.size)

    def is_whole(self, file: Found) -> bool:
        """Return whether a file was certainly written to its end: it was renamed, or is as long as those before."""
        return self._was_moved(file) or file.size >= self._sizes.get(over_time(file.path), file.size + 1)

    def _was_moved(self, file: Found) -> bool:
        came = _came_at(self._came, file.path)
        # What was written after it had come was written in place.
        return came > 0 and file.mtime <= came

    def is_unchanged(self, file: Found) -> bool:
        """Return whether a file is still what it was when it was found; True where it cannot be looked at."""
        try:
            stat = os.stat(file.path)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return (stat.st_ino, stat.st_mtime_ns, stat.st_size) == (file.inode, file.mtime, file.size)

    @property
    def learned(self) -> list[str]:
        """The folders outside the places of checkpoints in which checkpoints are written."""
        return [folder for folder in self._learned if not self._is_inside(folder)]

    @property
    def files(self) -> list[Found]:
        """The newest files that were seen, the newest last."""
        return sorted(self._files.values(), key=lambda file: file.at)

    def look(self, entries: int, seconds: float) -> bool:
        """Look at some entries, and return whether this completed a pass over all of them.

        Files that were the newest ones in the last pass come first.

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
                if path not in folders and _is_new(path, self._since):
                    yield from self._folder(path, limit=HOT_ENTRIES, below=[])
                yield

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
        came = _came_at(self._came, path)
        if stat.st_mtime_ns <= self._since and came <= self._since:
            if not is_draft(os.path.basename(path)):
                # It was there before the run.
                _note_size(self._sizes, path, stat.st_size)
            return
        known = self._files.get(path)
        file = seen(path, stat, known)
        if file is known:
            return
        file.at = max(file.at, came)
        if known is not None:
            is_log = file.grows is True and bool(file.head)
            if known.inode == file.inode and file.size > known.size and not is_log and not self._own(path):
                self.grown_at, self.grown_to = time.monotonic(), stat.st_mtime_ns
        self._files[path] = file
        self._files.move_to_end(path)
        if len(self._files) > 4 * HOT:
            oldest = min(self._files.values(), key=lambda file: file.at)
            del self._files[oldest.path]


def _came_at(came: OrderedDict[str, int], path: str) -> int:
    """Return when the file, or a folder that it lies in, was renamed into place; 0: not, as far as is known."""
    latest = 0
    while came and path not in ("", "/"):
        latest = max(latest, came.get(path, 0))
        path = os.path.dirname(path)
    return latest


def _note_size(sizes: OrderedDict[str, int], path: str, size: int) -> None:
    if size:
        name = over_time(path)
        _remember(sizes, name, min(size, sizes.get(name, size)))


def seen(path: str, stat: os.stat_result, known: Found | None) -> Found:
    """Return a file as it is now: the one that is known, where it has not changed. Reads the file system."""
    if known is not None and (known.inode, known.mtime, known.size) == (stat.st_ino, stat.st_mtime_ns, stat.st_size):
        return known
    file = Found(path, stat.st_mtime_ns, stat.st_size, stat.st_ino, time.time_ns())
    if may_be_text(os.path.basename(path)):
        file.head = _head(path)
    if known is not None:
        file.follow(known)
    return file


def _remember(known: OrderedDict[str, int], path: str, value: int) -> None:
    known[path] = value
    known.move_to_end(path)
    while len(known) > REMEMBERED:
        known.popitem(last=False)


def _head(path: str) -> bytes:
    """Return the first bytes of a file; nothing of what cannot be read, or is no file."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(fd, HEAD_BYTES)
    except OSError:
        return b""
    finally:
        os.close(fd)


def _is_new(path: str, since: int) -> bool:
    """Return whether an entry was made in a folder, or removed from it, since the run began."""
    try:
        return os.stat(path).st_mtime_ns > since
    except OSError:
        return False
