"""The log of a rank: lines with times, in parts that are rotated away.

Parts are `log/<20-digit start offset>.log`. Offsets are bytes since the first line, over all parts, so that they
stay valid for readers when old parts are removed. A line that begins with `[hai]` is the platform's; a line of the
command that would look like one gets a backslash.
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
#: The beginning of the platform's lines.
MARK = b"[hai]"
#: Space that is kept for the last line on a full disk, bytes.
SPARE_BYTES = 4096


class Splitter:
    r"""Cuts a stream into lines. A piece that ends in `\r` (a progress bar) is a line too."""

    def __init__(self) -> None:
        self._rest = b""
        self._after_return = False
        #: Whether the lines of the last piece may contain the platform's mark.
        self.marked = False

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that are complete now, without line ends."""
        if self._after_return and data:
            # The `\n` of a `\r\n` that was cut in two.
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
        """Return the last line if it has no line end, as a list."""
        rest, self._rest = self._rest, b""
        return [rest] if rest else []


def _cut(line: bytes) -> list[bytes]:
    if len(line) <= MAX_LINE:
        return [line]
    pieces = []
    while len(line) > MAX_LINE:
        end = MAX_LINE
        # Do not cut within a UTF-8 character: its continuation bytes are 10xxxxxx.
        while end > MAX_LINE - 4 and line[end] & 0xC0 == 0x80:
            end -= 1
        pieces.append(line[:end])
        line = line[end:]
    return [*pieces, line]


def _unlike_ours(lines: list[bytes]) -> list[bytes]:
    # Imported here, because few commands print such a line.
    from hai_client.rank.marks import unlike_ours

    return [unlike_ours(line) for line in lines]


class LogWriter:
    """Writes lines with times. It never raises and never waits for space: lines that cannot be written are counted.

    As soon as there is space again, a line says how many were lost. On a disk that stays full, the space kept for it
    holds that line.

    `mode` is the file mode of new parts.
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
        #: Lines lost in all, and lost lines that the log does not mention yet.
        self.lost = 0
        self._untold = 0
        #: The reason of the last loss.
        self.why = ""
        self._spare = os.path.join(folder, ".spare")

    def feed(self, data: bytes) -> None:
        """Add output of the command."""
        lines = self._splitter.feed(data)
        if lines:
            self._append(_unlike_ours(lines) if self._splitter.marked else lines)

    def say(self, text: str) -> None:
        """Write a line of the platform itself."""
        self._append([MARK + f" {line}".encode() for line in text.splitlines()])

    def close(self) -> None:
        """Write what is left. `feed` must not be called afterwards."""
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
