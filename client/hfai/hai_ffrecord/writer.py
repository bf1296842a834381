"""Writing a file of records that is there whole, or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import warnings
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from typing_extensions import Self

from hai_ffrecord.checksums import BLOCK, crc32
from hai_ffrecord.errors import FFRecordError
from hai_ffrecord.layout import HEADER, SUFFIX, data_at, offsets_at
from hai_ffrecord.paths import Name

#: How many bytes of small samples are written at once.
GATHERED = 1 << 20
#: Most entries of the index that are kept in memory.
ENTRIES = 1 << 16

Kind = TypeVar("Kind", bound="FileWriter")


class FileWriter:
    """Writes a file of a known number of samples: the index, which stands before them, takes its room at once.

    What is written is byte by byte what the original's writer makes of the same samples. It is written beside the file
    under a name of its own, and is given the file's name by `close`, on the disk by then: a reader never meets half a
    file, and what was there before stays there if writing fails.

    Args:
        fname: the file; its name ends with `.ffr`.
        n: how many samples will be written.

    Raises:
        ValueError: if the name does not end with `.ffr`, or `n` is below 0.
        OSError: if there can be no such file.
    """

    def __init__(self, fname: Name, n: int) -> None:
        self._fd = -1
        if not isinstance(fname, (str, os.PathLike)):
            raise TypeError(f"fname must be a path, not {type(fname).__name__}")
        if Path(fname).suffix != SUFFIX:
            raise ValueError(f"{fname} does not end with {SUFFIX}: readers take such files only")
        if not hasattr(n, "__index__"):
            raise TypeError(f"n must be a whole number, not {n!r}")
        #: How many samples there will be.
        self.n = int(n)
        if self.n < 0:
            raise ValueError(f"n is {n}: the number of samples is at least 0")
        #: How many samples have been written.
        self.count = 0
        self._name = str(fname)
        # Where a link leads to: the link stays.
        self._path = Path(os.path.realpath(self._name))
        if self._path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "is a folder: name a file", self._name)
        if not self._path.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, "its folder does not exist: create it first", self._name)
        self._begin()

    def _begin(self) -> None:
        # Not `.ffr` at its end: who reads the folder meanwhile must not take it.
        self._draft = self._path.with_name(f".{self._path.name}.{secrets.token_hex(4)}.tmp")
        self._process = os.getpid()
        self._fd = os.open(str(self._draft), os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        #: Where the next sample begins.
        self._position = data_at(self.n)
        #: Small samples that are not written yet.
        self._gathered = bytearray()
        self._starts: list[int] = []
        self._sums: list[int] = []

    def write_one(self, data: Any) -> None:
        """Write the next sample.

        Args:
            data: its bytes: `bytes`, `bytearray`, or anything else with a contiguous buffer, all of which is written.

        Raises:
            FFRecordError: if all `n` samples have been written.
            TypeError: if it has no contiguous buffer.
            OSError: if it cannot be written; what has been written is given up.
        """
        self._must_be_open()
        if self.count >= self.n:
            raise FFRecordError(f"{self._name} was begun for {self.n} samples and has them all: begin it for more")
        piece = _bytes_of(data)
        try:
            self._add(piece)
        except BaseException:
            self.discard()
            raise

    def _add(self, piece: memoryview) -> None:
        self._sums.append(crc32(piece))
        self._starts.append(self._position)
        if len(piece) >= GATHERED:
            self._flush()
            _write(self._fd, piece, self._position)
        else:
            self._gathered += piece
        self._position += len(piece)
        self.count += 1
        if len(self._gathered) >= GATHERED:
            self._flush()
        if len(self._sums) >= ENTRIES:
            self._write_entries()

    def _flush(self) -> None:
        """Write the small samples that were gathered; they end where the next sample begins."""
        if self._gathered:
            _write(self._fd, memoryview(self._gathered), self._position - len(self._gathered))
            # A new one: the view above may still hold the old.
            self._gathered = bytearray()

    def _write_entries(self) -> None:
        first = self.count - len(self._sums)
        sums, starts = np.array(self._sums, "<u4"), np.array(self._starts, "<i8")
        _write(self._fd, memoryview(sums.tobytes()), HEADER.size + 4 * first)
        _write(self._fd, memoryview(starts.tobytes()), offsets_at(self.n) + 8 * first)
        self._sums, self._starts = [], []

    def close(self) -> None:
        """Finish the file and give it its name; closing twice is allowed.

        Raises:
            FFRecordError: if fewer than `n` samples have been written. What has been written is given up.
            OSError: if it cannot be written; likewise.
        """
        if self._fd < 0:
            return
        if self.count != self.n:
            self.discard()
            raise FFRecordError(
                f"{self._name} was begun for {self.n} samples and {self.count} were written: it was given up"
            )
        try:
            self._finish()
        except BaseException:
            self.discard()
            raise

    def _finish(self) -> None:
        self._flush()
        self._write_entries()
        _write(self._fd, memoryview(HEADER.pack(0, self.n)), 0)
        _write(self._fd, memoryview(self._index_sum().to_bytes(4, "little")), 0)
        os.fsync(self._fd)
        os.close(self._fd)
        self._fd = -1
        # From here on nothing is given up: the file is whole.
        self._draft.replace(self._path)
        folder = os.open(str(self._path.parent), os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _index_sum(self) -> int:
        """The checksum of the index, read again: it is summed in another order than it came in."""
        sum_, stop = 0, data_at(self.n)
        at = HEADER.size - 8
        while at < stop:
            block = os.pread(self._fd, min(BLOCK, stop - at), at)
            if not block:
                raise FFRecordError(f"{self._draft} became shorter while it was written: write it again")
            sum_ = crc32(block, sum_)
            at += len(block)
        return sum_

    def discard(self) -> None:
        """Give up what was written; what was there before stays."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            with contextlib.suppress(FileNotFoundError):
                self._draft.unlink()

    def _must_be_open(self) -> None:
        if self._fd < 0:
            raise ValueError(f"the FileWriter of {self._name} is closed")
        if self._process != os.getpid():
            raise ValueError(f"the FileWriter of {self._name} belongs to another process: open one here")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    def __del__(self) -> None:
        # A forked child has a copy of this object; the file is its parent's.
        if getattr(self, "_fd", -1) < 0 or self._process != os.getpid():
            return
        if self.count == self.n:
            # The original finishes the file of a writer that goes away.
            self.close()
        else:
            warnings.warn(
                f"the FileWriter of {self._name} was not closed: its {self.count} of {self.n} samples are given up",
                ResourceWarning,
                stacklevel=2,
            )
            self.discard()


def _bytes_of(data: Any) -> memoryview:
    try:
        view = memoryview(data)
    except TypeError:
        raise TypeError(f"a sample must be bytes or have a buffer, not {type(data).__name__}") from None
    if not view.c_contiguous:
        raise TypeError("the buffer of a sample must be contiguous: hand on a copy (numpy.ascontiguousarray)")
    return view.cast("B") if view.nbytes else memoryview(b"")


def _write(fd: int, data: memoryview, at: int) -> None:
    """Write all of it: a call may take less than it was given."""
    while data:
        done = os.pwrite(fd, data, at)
        data, at = data[done:], at + done
