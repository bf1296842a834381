"""Finds the files that the processes of a rank are writing now.

A file counts as being written if a process of the rank has it open for writing and it moved on within `STALL_S`, and

- it lies below the checkpoint folder or a watched path, unless its name is that of a record (`is_record`); or
- it lies elsewhere, and its name looks like that of a checkpoint (`looks_like_checkpoint`); or
- it lies elsewhere, was opened after the notice to leave, and is no record.

Logs and the event files of TensorBoard are open for writing all the time: they are records, or were open before.
"""
# ruff: noqa: PTH119
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import os
from collections import OrderedDict

from hai_client.linux.openfiles import files_for_writing
from hai_client.rank.evidence.judging import is_below, is_database, is_record, looks_like_checkpoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

#: An open file without a write for this long is not a save that is going on, seconds.
STALL_S = 5.0
#: How many of its own files a rank remembers.
MAX_OWN = 1000


class _Open:
    """An open file: since when, the position of its next byte, and when that last changed; monotonic seconds."""

    __slots__ = ("moved", "position", "since")

    def __init__(self, position: int, now: float) -> None:
        self.position = position
        self.since = now
        self.moved = now


class Saves:
    """The files that a rank is writing, from one look to the next.

    Args:
        own: The platform's own folders for this rank: files in them are no checkpoints.
    """

    def __init__(self, own: tuple[str, ...]) -> None:
        self._own = own
        #: The places of checkpoints, as real paths, by which the kernel shows open files.
        self.roots: tuple[str, ...] = ()
        self._open: dict[str, _Open] = {}
        self._own_files: OrderedDict[str, None] = OrderedDict()
        self._noticed_at: float | None = None
        #: Checkpoints that were closed since the last look; taken by the thread that looks at file systems.
        self.closed: list[str] = []
        #: Checkpoints being written now; the set is replaced, never changed, so that the other thread can read it.
        self.open: frozenset[str] = frozenset()
        #: Files that were open when their writer was ended: they count as torn.
        self.torn: frozenset[str] = frozenset()

    def is_own(self, path: str) -> bool:
        """Return whether a process of the rank was seen to write this file."""
        return path in self._own_files

    def noticed(self, now: float) -> None:
        """Note the notice: any file that is opened from now on may be a save."""
        self._noticed_at = now

    def look(self, pids: Iterable[int], now: float) -> None:
        """Note the files that the processes have open (now: monotonic seconds)."""
        found = files_for_writing(pids)
        known, self._open = self._open, {}
        for path, position in found.items():
            if not self._may_be(path):
                continue
            one = known.get(path) or _Open(position, now)
            if position != one.position:
                one.position, one.moved = position, now
            self._open[path] = one
            self._own_files[path] = None
            self._own_files.move_to_end(path)
        while len(self._own_files) > MAX_OWN:
            self._own_files.popitem(last=False)
        for path in known:
            if path not in self._open and self._counts(path):
                self.closed.append(path)
        self.open = frozenset(path for path in self._open if not is_database(path))

    def going_on(self, now: float) -> bool:
        """Return whether a checkpoint was being written at the last look."""
        return any(now - one.moved < STALL_S and self._is_save(path, one) for path, one in self._open.items())

    def writing(self, pids: Iterable[int], now: float, begun: float = float("inf")) -> list[str]:
        """Return the checkpoints that some processes have open now; if they are stopped, this cannot change.

        Those first seen open after `begun` are left out (monotonic seconds).
        """
        found = files_for_writing(pids)
        busy = []
        for path, position in found.items():
            one = self._open.get(path)
            if not self._may_be(path) or (one is not None and one.position == position and now - one.moved >= STALL_S):
                continue
            one = one or _Open(position, now)
            if one.since <= begun and self._is_save(path, one):
                busy.append(path)
        return busy

    def tear(self, pids: Iterable[int]) -> None:
        """Mark the files that these processes have open as torn: the processes are about to be ended."""
        self.torn |= frozenset(path for path in files_for_writing(pids) if self._may_be(path) and not is_database(path))

    def tear_open(self) -> None:
        """Mark the files open at the last look as torn: the processes were killed from outside."""
        self.torn |= self.open

    def _may_be(self, path: str) -> bool:
        return not is_below(path, self._own) and (path in self.roots or not is_record(os.path.basename(path)))

    def _counts(self, path: str) -> bool:
        return is_below(path, self.roots) or looks_like_checkpoint(os.path.basename(path))

    def _is_save(self, path: str, one: _Open) -> bool:
        late = self._noticed_at is not None and one.since > self._noticed_at
        return late or self._counts(path)
