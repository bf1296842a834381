"""One open file of records: its checked index, and the places of its samples."""

from __future__ import annotations

import mmap
import os
import stat
import warnings
from typing import Any

import numpy as np

from hai_ffrecord.checksums import crc32_of
from hai_ffrecord.errors import FFRecordError
from hai_ffrecord.layout import HEADER, data_at, offsets_at

Array = Any
#: Largest index that is read into memory, bytes; a larger one is mapped, so that only used parts of it are read.
IN_MEMORY = 4 << 20
#: How many offsets are checked at a time.
CHECKED_AT_ONCE = 1 << 20
REMEDY = "copy the file again from where it was made, or write it again"


class RecordFile:
    """The index of one file, and a descriptor to read its samples with.

    Args:
        path: the file.
        check: read the whole index and check it against its checksum. Used entries are always checked: offsets must be
            in order and within the file.

    Raises:
        FFRecordError: if the file cannot be one, or its index is damaged.
        OSError: if it cannot be opened.
    """

    def __init__(self, path: str, check: bool) -> None:
        self.path = path
        #: Not blocking, so that a pipe is reported as an error instead of waited for.
        self.fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            self._open()
            if check:
                self.validate()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        status = os.fstat(self.fd)
        if not stat.S_ISREG(status.st_mode):
            raise FFRecordError(f"{self.path} is not a regular file: name a file that ends with .ffr")
        #: Bytes of the file.
        self.size = status.st_size
        head = os.pread(self.fd, HEADER.size, 0)
        if len(head) < HEADER.size:
            raise self._damaged(f"it has {self.size} bytes and a header takes {HEADER.size}")
        self._sum, self.n = HEADER.unpack(head)
        if self.n < 0:
            raise self._damaged(f"its header counts {self.n} samples")
        #: Where the samples begin.
        self.data_at = data_at(self.n)
        if self.data_at > self.size:
            raise self._damaged(
                f"its header counts {self.n} samples, whose index alone takes {self.data_at} bytes; it has {self.size}"
            )
        self._map()
        first = int(self._starts(0, 1)[0]) if self.n else self.size
        if first != self.data_at:
            raise self._damaged(f"its samples should begin at byte {self.data_at}, and its header says {first}")

    def _map(self) -> None:
        table: Any
        if self.data_at <= IN_MEMORY:
            table = np.empty(self.data_at, np.uint8)
            if os.preadv(self.fd, [table], 0) != self.data_at:
                raise self._damaged("it became shorter while it was read")
        else:
            table = mmap.mmap(self.fd, self.data_at, access=mmap.ACCESS_READ)
        self._table = memoryview(table)
        self._sums = np.frombuffer(table, "<u4", self.n, HEADER.size)
        # Halves, because an offset of 8 bytes stands at a multiple of 4: NumPy would copy the whole of such an array.
        self._halves = np.frombuffer(table, "<u4", 2 * self.n, offsets_at(self.n)).reshape(self.n, 2)
        #: Of an index that is in memory and makes sense, where each sample begins and the last one ends: no batch has
        #: to look at that again.
        self._bounds: Array = None
        if self.data_at <= IN_MEMORY:
            bounds = self.offsets()
            if bounds[0] >= self.data_at and (bounds[1:] >= bounds[:-1]).all():
                self._bounds = bounds

    def _starts(self, first: int, stop: int) -> Array:
        """Where the samples from `first` to before `stop` begin."""
        return self._joined(self._halves[first:stop].copy())

    @staticmethod
    def _joined(halves: Array) -> Array:
        """Halves of offsets, in memory of their own, as offsets."""
        return halves.view("<i8").reshape(-1)

    def locate(self, indices: Array) -> tuple[Array, Array, Array]:
        """Return the begins and ends of samples in the file, and their checksums.

        Args:
            indices: numbers of samples in this file, from 0 to `n` - 1, in order.

        Raises:
            FFRecordError: if the index is damaged there.
        """
        sums = self._sums.take(indices)
        if self._bounds is not None:
            return self._bounds.take(indices), self._bounds.take(indices + 1), sums
        starts = self._joined(self._halves.take(indices, axis=0))
        if indices[-1] < self.n - 1:
            ends = self._joined(self._halves.take(indices + 1, axis=0))
        else:
            ends = self._joined(self._halves.take(np.minimum(indices + 1, self.n - 1), axis=0))
            ends[indices == self.n - 1] = self.size
        # One check of all: a number is negative here if and only if an offset is wrong. That holds even if a difference
        # of damaged numbers overflows, because then one of them is negative itself.
        if np.bitwise_or.reduce(starts | ends | (ends - starts) | (starts - self.data_at) | (self.size - ends)) < 0:
            raise self._out_of_place(indices, starts, ends)
        return starts, ends, sums

    def _out_of_place(self, indices: Array, starts: Array, ends: Array) -> FFRecordError:
        wrong = int(np.flatnonzero((starts < self.data_at) | (ends > self.size) | (ends < starts))[0])
        return self._damaged(
            f"its index says that sample {int(indices[wrong])} goes from byte {int(starts[wrong])} to byte"
            f" {int(ends[wrong])}, and samples go from {self.data_at} to {self.size}"
        )

    def validate(self) -> None:
        """Read the whole index and check it.

        Raises:
            FFRecordError: if it differs from its checksum, or offsets are out of order or beyond the end of the file.
        """
        if self._sum == 0:
            warnings.warn(
                f"{self.path} was written by an old version of ffrecord, without a checksum of its index: only the"
                " samples are checked",
                stacklevel=2,
            )
        elif crc32_of(self._table[4:]) != self._sum:
            raise self._damaged("its index differs from its checksum")
        before = self.data_at
        for first in range(0, self.n, CHECKED_AT_ONCE):
            starts = self._starts(first, min(first + CHECKED_AT_ONCE, self.n))
            if starts[0] < before or (starts[1:] < starts[:-1]).any():
                raise self._damaged("the offsets in its index are out of order")
            before = int(starts[-1])
        if before > self.size:
            raise self._damaged(f"its last sample should begin at byte {before}, and it has {self.size}")

    def offsets(self) -> Array:
        """Return the offset of each sample, and as the last number the size of the file: int64, shape (n + 1,)."""
        return np.append(self._starts(0, self.n), self.size).astype(np.int64, copy=False)

    def checksums(self) -> Array:
        """Return the CRC32 of each sample: uint32, shape (n,)."""
        return self._sums.astype(np.uint32)

    def has_checksum(self) -> bool:
        """Return whether the index has a checksum: old writers left it out."""
        return bool(self._sum)

    def close(self) -> None:
        """Close the descriptor; closing twice is allowed."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def _damaged(self, why: str) -> FFRecordError:
        return FFRecordError(f"{self.path} is damaged, or no FFRecord file: {why}; {REMEDY}")
