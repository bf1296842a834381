r"""The log of a rank: lines with times, in parts that are rotated away.

Parts are `log/<20-digit start offset>.log`. Offsets are bytes since the first line, over all parts, so that they
stay valid for readers when old parts are removed. A line that begins with `[hai]` is the platform's; a line of the
command that would look like one gets a backslash. A line that ends in `\r` is a state of one that is being written
again, such as a progress bar: the next line takes its place.
"""
# ruff: noqa: PTH104, PTH108, PTH118
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import contextlib
import os

from hai_client.linux.rights import give_rights
from hai_client.rank.records.splitter import MARK, Splitter
from hai_client.rank.shared.safefile import write_all
from hai_client.rank.shared.times import rfc3339

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from hai_client.rank.records.redaction import Redactor

#: Seconds between two states of a line that is written again: this, or a part of its age, up to the longest.
STATE_EVERY_S = 1.0
STATE_AGE = 1 / 60
STATE_LONGEST_S = 10.0
#: Longer states are cut.
MAX_STATE = 1000
#: Seconds after which rows that were written again are complete, if the cursor did not go up to them any more.
SETTLED_AFTER_S = 10.0
#: Space that is kept for the last line on a full disk, bytes.
SPARE_BYTES = 4096


def _unlike_ours(lines: list[bytes]) -> list[bytes]:
    # Imported here, because few commands print such a line.
    from hai_client.rank.records.marks import unlike_ours

    return [unlike_ours(line) for line in lines]


class LogWriter:
    """Writes lines with times. It never raises and never waits for space: lines that cannot be written are counted.

    As soon as there is space again, a line says how many were lost. On a disk that stays full, the space kept for it
    holds that line.

    `mode` is the file mode of new parts, `redactor` what takes secrets out of all lines; None: there are none.
    """

    def __init__(
        self,
        folder: str,
        *,
        max_bytes: int,
        parts: int,
        mode: int = 0o600,
        redactor: Redactor | None = None,
        write: Callable[[int, bytes], int] = os.write,
    ) -> None:
        self._folder = folder
        self._part_bytes = max(1, max_bytes // max(1, parts))
        self._parts = max(1, parts)
        self._mode = mode
        self._redactor = redactor
        self._write = write
        self._splitter = Splitter()
        self._names: list[str] = []
        self._fd = -1
        #: Logical offset of the end, and size of the current part.
        self._end = 0
        self._size = 0
        #: Lines lost in all, and lost lines that the log does not mention yet.
        self.lost = 0
        self._untold = 0
        #: The reason of the last loss.
        self.why = ""
        #: Since when a line is written again, when its state is due, and when to see if several rows have settled.
        self._again_since: float | None = None
        self._state_due = self._settle_due = 0.0
        self._spare = os.path.join(folder, ".spare")

    def feed(self, data: bytes) -> None:
        """Add output of the command."""
        self._split(data if self._redactor is None else self._redactor.feed(data))

    def _split(self, data: bytes) -> None:
        lines = self._splitter.feed(data)
        if lines:
            self._again_since = None
            self._append(_unlike_ours(lines) if self._splitter.marked else lines)

    def step(self, now: float) -> None:
        """Write the state of a line that is being written again, if it is due; `now` is of the monotonic clock."""
        if not self._splitter.rewriting:
            self._again_since = None
            return
        if self._again_since is None:
            self._again_since, self._state_due = now, now + STATE_EVERY_S
            self._settle_due = now + SETTLED_AFTER_S
        if now >= self._settle_due:
            self._settle_due = now + SETTLED_AFTER_S
            if self._splitter.has_settled():
                self._end_line()
                return
        if now >= self._state_due:
            self._state_due = now + min(STATE_LONGEST_S, max(STATE_EVERY_S, STATE_AGE * (now - self._again_since)))
            state = self._splitter.state()
            if state is not None:
                self._append([line[:MAX_STATE] + b"\r" for line in _unlike_ours([state])])

    def say(self, text: str) -> None:
        """Write a line of the platform itself, below the state of what is being written again."""
        if self._splitter.rewriting:
            self._end_line()
        if self._redactor is not None:
            text = self._redactor.text(text)
        self._append([MARK + f" {line}".encode() for line in text.splitlines()])

    def _end_line(self) -> None:
        rest = self._splitter.finish()
        self._append(_unlike_ours(rest) if any(MARK in line for line in rest) else rest)

    def close(self) -> None:
        """Write what is left. `feed` must not be called afterwards."""
        if self._redactor is not None:
            self._split(self._redactor.finish())
        self._end_line()
        self._append([])
        if self._untold:
            with contextlib.suppress(OSError):
                self._use_spare()
        with contextlib.suppress(OSError):
            os.unlink(self._spare)
        if self._fd >= 0:
            with contextlib.suppress(OSError):
                os.close(self._fd)
            self._fd = -1

    def _append(self, lines: list[bytes]) -> None:
        stamp = rfc3339().encode() + b" "
        if self._untold:
            told = self._untold
            if not self._put(self._loss(), count=False):
                self._lose(len(lines))
                return
            self._untold -= told
        entries = [stamp + line + b"\n" for line in lines]
        start, size = 0, 0
        for index, entry in enumerate(entries):
            if size and self._size + size + len(entry) > self._part_bytes:
                self._put(b"".join(entries[start:index]), count=True)
                start, size = index, 0
            size += len(entry)
        if start < len(entries):
            self._put(b"".join(entries[start:]), count=True)

    def _put(self, block: bytes, *, count: bool) -> bool:
        """Write whole lines, as many as there is space for; return whether all were written. `count`: count losses."""
        written = 0
        try:
            if self._fd < 0 or (self._size and self._size + len(block) > self._part_bytes):
                self._roll()
            while written < len(block):
                written += self._write(self._fd, block[written:])
        except OSError as error:
            self.why = (error.strerror or "unknown error").lower()
            kept = block.rfind(b"\n", 0, written) + 1
            self._take_back(written, kept)
            if count:
                self._lose(block.count(b"\n", kept))
            return False
        self._size += written
        self._end += written
        return True

    def _take_back(self, written: int, kept: int) -> None:
        """Remove a half line after a write that failed."""
        if written > kept:
            try:
                os.ftruncate(self._fd, self._size + kept)
                os.lseek(self._fd, 0, os.SEEK_END)
            except OSError:
                kept = written
        self._size += kept
        self._end += kept

    def _lose(self, lines: int) -> None:
        self.lost += lines
        self._untold += lines

    def _loss(self) -> bytes:
        """Return the line that says how many lines were lost, and why."""
        lines = "line was" if self._untold == 1 else "lines were"
        return f"{rfc3339()} {MARK.decode()} {self._untold} {lines} lost: {self.why}\n".encode()

    def _set_aside(self) -> None:
        """Allocate the space for the last line, if there is space."""
        with contextlib.suppress(OSError):
            fd = os.open(self._spare, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC, self._mode)
            try:
                give_rights(fd, self._mode)
                os.posix_fallocate(fd, 0, SPARE_BYTES)
            finally:
                os.close(fd)

    def _use_spare(self) -> None:
        """Make the kept space the last part of the log, which needs no new disk block. Raises OSError."""
        line = self._loss()
        fd = os.open(self._spare, os.O_WRONLY | os.O_CLOEXEC)
        try:
            write_all(fd, line)
            os.ftruncate(fd, len(line))
        finally:
            os.close(fd)
        os.rename(self._spare, self._part())
        self._untold = 0
        self._end += len(line)

    def _part(self) -> str:
        return os.path.join(self._folder, f"{self._end:020d}.log")

    def _roll(self) -> None:
        name = self._part()
        fd = os.open(name, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, self._mode)
        with contextlib.suppress(OSError):
            give_rights(fd, self._mode)
        if self._fd >= 0:
            os.close(self._fd)
        else:
            self._set_aside()
        self._fd, self._size = fd, 0
        self._names.append(name)
        while len(self._names) > self._parts:
            with contextlib.suppress(OSError):
                os.unlink(self._names[0])
            del self._names[0]
