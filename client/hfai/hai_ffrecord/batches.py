"""A batch of samples: read with few calls into one block of memory, and checked while the cache has it."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Callable, Iterator

import numpy as np

from hai_ffrecord.checksums import crc32
from hai_ffrecord.combining import combined
from hai_ffrecord.crew import Crew
from hai_ffrecord.errors import FFRecordError
from hai_ffrecord.records import REMEDY, RecordFile
from hai_ffrecord.spare import Spare
from hai_ffrecord.submitting import ManyPlaces, Queues

Array = Any
#: Average size of samples, bytes: in batches below it neighbours are read together, others are shared among threads.
LARGE = 32 << 10
#: Most bytes between two small samples that are read rather than skipped: a further call costs as much.
BRIDGED = 4 << 10
#: Neighbours are read together where more than one sample in this number has one: to lay them out takes as long as some
#: reads.
NEIGHBOURS = 8
#: Least number of places that are handed to the kernel with one call: below it as many calls cost less.
MANY = 8
#: Least bytes of a batch for threads: below that they cost more than they save.
WORTH_THREADS = 1 << 20
#: Size of the blocks in which large samples are read and checked, bytes.
BLOCK = 1 << 20
#: Least bytes that one thread takes at a time.
PIECE = 1 << 18


class Part:
    """The samples of a batch that are in one file.

    Args:
        file: the file.
        numbers: their numbers in it, in order.
        before: how many samples the files before it have, for what is said of errors.

    Raises:
        FFRecordError: if the index of the file is damaged there.
    """

    def __init__(self, file: RecordFile, numbers: Array, before: int) -> None:
        self._file, self._numbers, self._before = file, numbers, before
        starts, ends, sums = file.locate(numbers)
        lengths = ends - starts
        each: list[int] = lengths.tolist()
        #: How many samples there are.
        self.count = len(each)
        #: How many bytes they have.
        self.size = sum(each)
        #: Bytes of memory that it takes.
        self.room = self.size
        #: Where small samples are read from, and to where in that memory. Neighbours are one place.
        self._places: ManyPlaces | None = None
        #: Where in that memory samples begin and end; None where all have one length and nothing is between them.
        self._bounds: tuple[list[int], list[int]] | None = None
        stops = lengths.cumsum()
        begins = stops - lengths
        if self.size < LARGE * self.count:
            self._places = ManyPlaces(starts, begins, lengths, self.size)
            gaps = starts[1:] - ends[:-1]
            # Numbers below 0, of repeated samples, are very large without their sign.
            close = gaps.view(np.uint64) <= BRIDGED
            if np.count_nonzero(close) * NEIGHBOURS > self.count:
                self._bring_together(starts, lengths, gaps, close)
        if self._bounds is None and each.count(each[0]) < self.count:
            self._bounds = begins.tolist(), stops.tolist()
        self._starts = starts
        self._sums = sums
        #: The samples, once there is memory for them.
        self.samples: list[Array] = []
        self._memory: Array = None

    def _bring_together(self, starts: Array, lengths: Array, gaps: Array, close: Array) -> None:
        """Lay samples out in memory as in the file where they are close, with what is between them."""
        stops = lengths.cumsum()
        stops[1:] += np.where(close, gaps, 0).cumsum()
        begins = stops - lengths
        breaks = np.flatnonzero(~close)
        firsts, lasts = np.append(0, breaks + 1), np.append(breaks, self.count - 1)
        sizes = stops[lasts] - begins[firsts]
        self._places = ManyPlaces(starts[firsts], begins[firsts], sizes, int(sizes.sum()))
        self._bounds = begins.tolist(), stops.tolist()
        self.room = int(stops[-1])

    def settle(self, memory: Array) -> None:
        """Take memory of `room` bytes for the samples."""
        self._memory = memory
        if self._bounds is None:
            # Rows are made three times as fast as slices.
            self.samples = list(memory.reshape(self.count, self.size // self.count))
        else:
            self.samples = list(map(memory.__getitem__, map(slice, *self._bounds)))

    def read(self, check: bool, queues: Queues) -> None:
        """Read all samples.

        Raises:
            FFRecordError: if one differs from its checksum, or the file became shorter.
        """
        if self._places is None:
            self.read_some(0, self.count, check)
            return
        places = self._places
        if len(places.starts) < MANY or not queues.read(self._file.fd, self._memory, places):
            for start, begin, size in zip(places.starts.tolist(), places.begins.tolist(), places.sizes.tolist()):
                self._fill(self._memory[begin : begin + size], start)
        if check:
            self._check()

    def _check(self) -> None:
        if self._bounds is None and crc32(self._memory) == combined(self._sums, self.size // self.count):
            return
        sums: list[int] = self._sums.tolist()
        if list(map(crc32, self.samples)) != sums:
            wrong = next(place for place, sum_ in enumerate(sums) if crc32(self.samples[place]) != sum_)
            raise self._changed(wrong)

    def pieces(self, check: bool) -> Iterator[Callable[[], None]]:
        """The reading of all samples, each as large ones are read, in pieces for threads; they raise as `read` does."""
        step = max(1, PIECE * self.count // max(1, self.size))
        for first in range(0, self.count, step):
            yield partial(self.read_some, first, min(first + step, self.count), check)

    def read_some(self, first: int, stop: int, check: bool) -> None:
        """Read the samples from `first` to before `stop`, each as large ones are read; raises as `read` does."""
        for place in range(first, stop):
            self._read_large(place, check)

    def _read_large(self, place: int, check: bool) -> None:
        """Read one sample block by block: what is checked at once is still in the cache then."""
        sample, start, sum_ = self.samples[place], int(self._starts[place]), 0
        for at in range(0, len(sample), BLOCK):
            block = sample[at : at + BLOCK]
            self._fill(block, start + at)
            if check:
                sum_ = crc32(block, sum_)
        if check and sum_ != int(self._sums[place]):
            raise self._changed(place)

    def _fill(self, memory: Array, start: int) -> None:
        """Read until the memory is full: a call may bring less than was asked for."""
        done = 0
        while done < len(memory):
            got = os.preadv(self._file.fd, (memory[done:],), start + done)
            if not got:
                raise FFRecordError(
                    f"{self._file.path} became shorter while it was open: it ends before byte {start + len(memory)};"
                    f" {REMEDY}"
                )
            done += got

    def _changed(self, place: int) -> FFRecordError:
        number = int(self._numbers[place])
        whole = f" (sample {self._before + number} of all files)" if self._before else ""
        return FFRecordError(
            f"{self._file.path}: sample {number}{whole} differs from its checksum; {REMEDY}."
            f" `python -m hai_ffrecord verify {self._file.path}` lists all such samples"
        )


def read_all(parts: list[Part], check: bool, crew: Crew, spare: Spare, queues: Queues) -> list[Array]:
    """The samples of all parts, one after another, as arrays of bytes.

    Raises:
        FFRecordError: if one differs from its checksum, or a file became shorter.
    """
    size, count = sum([part.room for part in parts]), sum([part.count for part in parts])
    memory = spare.take(size)
    at = 0
    for part in parts:
        part.settle(memory[at : at + part.room])
        at += part.room
    if crew.size > 1 and count > 1 and size >= max(WORTH_THREADS, count * LARGE):
        crew.do(piece for part in parts for piece in part.pieces(check))
    else:
        for part in parts:
            part.read(check, queues)
    return parts[0].samples if len(parts) == 1 else [sample for part in parts for sample in part.samples]
