"""Whether files are whole: the index, and every sample."""

from __future__ import annotations

from typing import Callable, Iterator

import numpy as np

from hai_ffrecord.errors import FFRecordError
from hai_ffrecord.reader import FileReader

#: Most bytes, and most samples, that are read at once.
AT_ONCE = 32 << 20
MOST = 1 << 14


def faults(fname: str, read: Callable[[int, int], None] | None = None) -> Iterator[str]:
    """What is wrong with one file, line by line; nothing if it is whole.

    Args:
        fname: the file.
        read: is told from time to time how many samples have been read, and how many bytes.
    """
    try:
        reader = FileReader(fname)
    except (FFRecordError, OSError, ValueError) as error:
        yield str(error)
        return
    with reader:
        done = 0
        for batch, size in _batches(reader):
            try:
                reader.read(batch)
            except FFRecordError:
                yield from _one_by_one(reader, batch)
            done += size
            if read is not None:
                read(batch[-1] + 1, done)


def _batches(reader: FileReader) -> Iterator[tuple[list[int], int]]:
    offsets = reader.get_offsets(0)
    first = 0
    while first < reader.n:
        stop = int(np.searchsorted(offsets, offsets[first] + AT_ONCE, "right")) - 1
        stop = min(max(stop, first + 1), first + MOST, reader.n)
        yield list(range(first, stop)), int(offsets[stop] - offsets[first])
        first = stop


def _one_by_one(reader: FileReader, batch: list[int]) -> Iterator[str]:
    for index in batch:
        fault = _fault(reader, index)
        if fault is not None:
            yield fault


def _fault(reader: FileReader, index: int) -> str | None:
    try:
        reader.read_one(index)
    except FFRecordError as error:
        return str(error)
    return None
