"""Reads samples by their numbers from one or many files."""

from __future__ import annotations

from collections import deque
from typing import Any, Callable, Sequence, TypeVar

import numpy as np
from typing_extensions import Self

from hai_ffrecord.batches import Part, read_all
from hai_ffrecord.crew import Crew
from hai_ffrecord.paths import Name, files_of
from hai_ffrecord.records import RecordFile
from hai_ffrecord.spare import Spare
from hai_ffrecord.submitting import Queues

Array = Any

Kind = TypeVar("Kind", bound="FileReader")


class FileReader:
    """Reads samples of one file, of a list of files, or of a folder of files.

    Samples are numbered from 0 over all files. A batch is read in the order of the samples on the disk and returned in
    the order of the numbers; neighbours are read with one call, and large samples by several threads. A reader can be
    used after `fork`, and can be pickled: the copy opens the files again.

    Args:
        fname: a file that ends with `.ffr`, a folder that has such files, or a list or tuple of files.
        check_data: check index and samples against their checksums. Without it changed bytes are not noticed, but
            offsets are still checked, so that a sample never contains other bytes of the file.
        threads: how many threads read a batch of large samples (default: the number of processors, at most 4). More
            threads help if the storage has a high latency.

    Raises:
        FFRecordError: if a file is damaged.
        FileNotFoundError: if a file is missing.
        ValueError: if a name does not end with `.ffr`.
    """

    def __init__(self, fname: Name | Sequence[Name], check_data: bool = True, *, threads: int | None = None) -> None:
        #: The files, in the order of their samples.
        self.fnames = files_of(fname)
        #: Whether checksums are checked.
        self.check_data = bool(check_data)
        self._threads = threads
        self._crew = Crew(threads)
        self._spare = Spare()
        self._queues = Queues()
        self._files: list[RecordFile] = []
        try:
            for name in self.fnames:
                self._files.append(RecordFile(name, self.check_data))
        except BaseException:
            self.close()
            raise
        #: For each file, the number of samples up to its end.
        self._stops = np.cumsum([file.n for file in self._files], dtype=np.int64)
        #: How many samples there are.
        self.n = int(self._stops[-1])

    def __len__(self) -> int:
        """Return the number of samples."""
        return self.n

    def read(self, indices: Sequence[int]) -> list[Array]:
        """Return the samples of these numbers, in this order.

        The arrays (uint8, writable) of one call share one block of memory: copy a sample that you keep for long.

        Args:
            indices: numbers from 0 to `n` - 1, in any order, also repeatedly: a list, a tuple or an array.

        Raises:
            IndexError: if there is no such sample.
            FFRecordError: if a sample differs from its checksum, or its file became shorter.
            ValueError: if the reader is closed.
        """
        wanted = self._numbers(indices)
        if not wanted.size:
            return []
        order = wanted.argsort(kind="stable")
        inside = wanted.take(order)
        if inside[0] < 0 or inside[-1] >= self.n:
            wrong = inside[0] if inside[0] < 0 else inside[-1]
            raise IndexError(f"there is no sample {wrong}: the numbers of these {self.n} samples begin with 0")
        found = read_all(self._parts(inside), self.check_data, self._crew, self._spare, self._queues)
        given: list[Array] = [None] * len(found)
        # Like `given[place] = sample` for each, in C.
        deque(map(given.__setitem__, order.tolist(), found), 0)
        return given

    def read_one(self, index: int) -> Array:
        """Return the sample of this number, as an array (uint8). Raises as `read` does."""
        return self.read((index,))[0]

    def validate(self) -> None:
        """Check the index of every file against its checksum; samples are not read.

        Raises:
            FFRecordError: if an index is damaged.
        """
        for file in self._files:
            file.validate()

    def get_offsets(self, file_index: int) -> Array:
        """Return the offsets of one file's samples, and its size as the last number: int64, shape (samples + 1,)."""
        return self._files[file_index].offsets()

    def get_checksums(self, file_index: int) -> Array:
        """Return the CRC32 of each sample of one file: uint32, shape (samples,)."""
        return self._files[file_index].checksums()

    def close(self) -> None:
        """Close all files; closing twice is allowed."""
        self._crew.close()
        self._spare.close()
        self._queues.close()
        for file in self._files:
            file.close()
        self._files = []

    def _numbers(self, indices: Sequence[int]) -> Array:
        if not self._files:
            raise ValueError("the FileReader is closed: open it again")
        wanted = np.asarray(indices)
        if not wanted.size:
            return wanted
        if wanted.ndim != 1 or wanted.dtype.kind not in "iu":
            raise TypeError(f"indices must be whole numbers in a list, a tuple or an array, not {indices!r:.80}")
        return wanted.astype(np.int64, copy=False)

    def _parts(self, wanted: Array) -> list[Part]:
        """Where samples are, given their numbers in order."""
        if len(self._files) == 1:
            return [Part(self._files[0], wanted, 0)]
        parts, first = [], 0
        stops = np.searchsorted(wanted, self._stops)
        for at in np.flatnonzero(np.diff(stops, prepend=0)).tolist():
            file, stop = self._files[at], int(stops[at])
            before = int(self._stops[at]) - file.n
            parts.append(Part(file, wanted[first:stop] - before, before))
            first = stop
        return parts

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_files"):
            self.close()

    def __reduce__(self) -> tuple[Callable[..., FileReader], tuple[Any, ...]]:
        return _again, (type(self), self.fnames, self.check_data, self._threads)

    def __repr__(self) -> str:
        return f"FileReader({self.fnames!r}, check_data={self.check_data})"


def _again(kind: type[FileReader], fnames: list[str], check_data: bool, threads: int | None) -> FileReader:
    """Another reader of the same files."""
    return kind(fnames, check_data, threads=threads)
