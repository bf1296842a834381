"""The log of a rank: lines with times, in parts that are rotated away.

Parts are `log/<20-digit start offset>.log`. Offsets are bytes since the first line, over all parts, so that they
stay valid for readers when old parts go. A line that begins with `[hai]` is the platform's; one of the command that
would look like that gets a backslash.
"""
# ruff: noqa: PTH104, PTH108, PTH118
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import contextlib
import os

from hai_client.rank.safefile import write_all
from hai_client.rank.times import rfc3339

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

#: Longer lines are cut into pieces of this size.
MAX_LINE = 64 * 1024
#: How lines of the platform begin.
MARK = b"[hai]"
#: What is set aside for the last word on a full disk, bytes.
SPARE_BYTES = 4096


class Splitter:
    r"""Cuts a stream into lines. A piece that ends in `\r` (a progress bar) is a line as well."""

    def __init__(self) -> None:
        self._rest = b""
        self._after_return = False
        #: Whether the lines of the last piece may hold what the platform's begin with.
        self.marked = False

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that are complete now, without their ends."""
        if self._after_return and data:
            # The second half of a line end whose halves came apart.
            data = data[1:] if data.startswith(b"\n") else data
            self._after_return = False
        data = self._rest + data
        self.marked = MARK in data
        lines = data.split(b"\n")
        if b"\r" in data:
            lines = self._split_returns(lines)
        self._rest = lines.pop()
        if len(self._rest) > MAX_LINE:
            lines.append(self._rest)
            self._rest = b""
        if any(len(line) > MAX_LINE for line in lines):
            lines = [piece for line in lines for piece in _cut(line)]
        return lines

    def _split_returns(self, segments: list[bytes]) -> list[bytes]:
        lines: list[bytes] = []
        for segment in segments[:-1]:
            *pieces, last = segment.split(b"\r")
            lines += filter(None, pieces)
            if last or not pieces:
                lines.append(last)
        *pieces, last = segments[-1].split(b"\r")
        lines += filter(None, pieces)
        self._after_return = bool(pieces) and not last
        return [*lines, last]

    def finish(self) -> list[bytes]:
        """The last line if it has no end."""
        rest, self._rest = self._rest, b""
        return [rest] if rest else []


def _cut(line: bytes) -> list[bytes]:
    if len(line) <= MAX_LINE:
        return [line]
    pieces = []
    while len(line) > MAX_LINE:
        end = MAX_LINE
        # Not within a character: its continuation bytes are 10xxxxxx.
        while end > MAX_LINE - 4 and line[end] & 0xC0 == 0x80:
            end -= 1
        pieces.append(line[:end])
        line = line[end:]
    return [*pieces, line]


def _unlike_ours(lines: list[bytes]) -> list[bytes]:
    # Imported by those few that print such a line.
    from hai_client.rank.marks import unlike_ours

    return [unlike_ours(line) for line in lines]


class LogWriter:
    """Writes stamped lines. Never raises and never waits for room: what cannot be written is counted.

    What was lost is told by a line as soon as there is room again; on a disk that stays full, by a last line in room
    that was set aside.

    `mode` is that of new parts: who may read them.
    """

    def __init__(
        self,
        folder: str,
        *,
        max_bytes: int,
        parts: int,
        mode: int = 0o600,
        write: Callable[[int, bytes], int] = os.write,
    ) -> None:
        self._folder = folder
        self._part_bytes = max(1, max_bytes // max(1, parts))
        self._parts = max(1, parts)
        self._mode = mode
        self._write = write
        self._splitter = Splitter()
        self._names: list[str] = []
        self._fd = -1
        #: Logical offset of the end, and size of the current part.
        self._end = 0
        self._size = 0
        #: Lines lost in all, and those that no line in the log tells of yet.
        self.lost = 0
        self._untold = 0
        #: Why lines were lost last.
        self.why = ""
        self._spare = os.path.join(folder, ".spare")

    def feed(self, data: bytes) -> None:
        """Take what the command wrote."""
        lines = self._splitter.feed(data)
        if lines:
            self._append(_unlike_ours(lines) if self._splitter.marked else lines)

    def say(self, text: str) -> None:
        """Write a line of the platform itself."""
        self._append([MARK + f" {line}".encode() for line in text.splitlines()])

    def close(self) -> None:
        """Write what is left. Nothing may be fed afterwards."""
        rest = self._splitter.finish()
        self._append(_unlike_ours(rest) if any(MARK in line for line in rest) else rest)
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
        """Write whole lines, or those of them for which there is room. The others are lost, counted or not."""
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
        """Leave no half line behind a write that failed."""
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
        """The line that says what was lost."""
        lines = "line was" if self._untold == 1 else "lines were"
        return f"{rfc3339()} {MARK.decode()} {self._untold} {lines} lost: {self.why}\n".encode()

    def _set_aside(self) -> None:
        """Keep room for the last word, where there is some."""
        with contextlib.suppress(OSError):
            fd = os.open(self._spare, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC, self._mode)
            try:
                os.posix_fallocate(fd, 0, SPARE_BYTES)
            finally:
                os.close(fd)

    def _use_spare(self) -> None:
        """Make the room that was set aside the last part of the log: that needs no new block. Raises OSError."""
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
