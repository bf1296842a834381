"""Receives contents: each is checked while it comes, and appears under its SHA-256 when it is complete and right."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path
from typing import BinaryIO, Final

from hai_client.snapshots.packing import BadStream, Unpacker
from hai_scheduler.adapters.snapshots.bounds import full_disk
from hai_scheduler.adapters.snapshots.layout import Place
from hai_scheduler.ports.reading import in_reader
from hai_scheduler.ports.snapshots import SnapshotFault, SnapshotTooLarge

#: With more new files than this, the whole file system is told to write them, not each file.
_MANY: Final = 32


class Receiver:
    """See `ports.snapshots.ContentReceiver`.

    Args:
        place: The user's snapshots.
        expected: The sizes of the contents that may come, by SHA-256: those that another client has sent meanwhile too.
        lacking: The size of what the snapshot still lacks, in bytes.
        room: How many bytes the user may still store.
    """

    def __init__(self, place: Place, expected: dict[str, int], *, lacking: int, room: int) -> None:
        self._place = place
        self._unpacker = Unpacker(expected)
        self._room = room
        self._left = lacking
        self._draft: Path | None = None
        self._file: BinaryIO | None = None
        #: Contents that are complete, and not yet under their names.
        self._done: list[tuple[str, Path]] = []
        self._busy = False
        self._over = False

    async def take(self, piece: bytes) -> None:
        """See `ContentReceiver.take`."""
        if self._over:
            return
        self._busy = True
        try:
            await in_reader(lambda: self._take(piece))
        finally:
            self._busy = False
            if self._over:
                await in_reader(self._end)

    async def finish(self) -> None:
        """See `ContentReceiver.finish`."""
        try:
            self._unpacker.finish()
        except BadStream as error:
            await self.abort()
            raise SnapshotFault(f"body: {error}") from None
        await self.abort()

    async def abort(self) -> None:
        """See `ContentReceiver.abort`."""
        if self._over:
            return
        self._over = True
        # A thread may be writing: it ends first, and `take` cleans up.
        if not self._busy:
            await in_reader(self._end)

    def _take(self, piece: bytes) -> None:
        try:
            for digest, part, complete in self._unpacker.take(piece):
                self._write(part)
                if complete:
                    self._keep(digest)
        except BadStream as error:
            raise SnapshotFault(f"body: {error}") from None
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise full_disk(self._place, self._left) from None

    def _write(self, part: bytes) -> None:
        self._room -= len(part)
        if self._room < 0:
            raise SnapshotTooLarge("your snapshots take more space than you may have: ask for less, or wait")
        if self._file is None:
            self._draft = self._place.draft()
            handle = os.open(self._draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o400)
            self._file = os.fdopen(handle, "wb", buffering=0)
        rest = memoryview(part)
        while rest:
            rest = rest[self._file.write(rest) :]
        self._left = max(0, self._left - len(part))

    def _keep(self, digest: str) -> None:
        assert self._file is not None
        assert self._draft is not None
        os.fchmod(self._file.fileno(), 0o444)
        self._file.close()
        self._done.append((digest, self._draft))
        self._file = self._draft = None

    def _end(self) -> None:
        """Let complete contents appear, and remove the one that is not."""
        done, self._done = self._done, []
        if self._file is not None:
            self._file.close()
        if self._draft is not None:
            self._draft.unlink(missing_ok=True)
        self._file = self._draft = None
        # A name stands for its content: the disk must have that first, or a power cut would leave an empty file.
        _to_disk([draft for _, draft in done], self._place.incoming)
        for digest, draft in done:
            target = self._place.content(digest)
            target.parent.mkdir(mode=0o711, exist_ok=True)
            # A content that is there already stays: folders of snapshots link to its file.
            if target.exists():
                draft.unlink()
            else:
                draft.replace(target)


def _to_disk(files: list[Path], folder: Path) -> None:
    if len(files) > _MANY and _sync_all(folder):
        return
    for file in files:
        handle = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _sync_all(folder: Path) -> bool:
    """Let the file system of a folder write everything; returns whether that could be asked."""
    try:
        syncfs = ctypes.CDLL(None, use_errno=True).syncfs
    except (OSError, AttributeError):
        return False
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return bool(syncfs(handle) == 0)
    finally:
        os.close(handle)
