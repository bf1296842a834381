"""A batch of samples: read with few calls into one block of memory, and checked while the cache has it."""

from __future__ import annotations

import os
from functools import partial
from itertools import repeat
from typing import Any, Callable

import numpy as np

from hai_ffrecord.checksums import crc32
from hai_ffrecord.crew import Crew
from hai_ffrecord.errors import FFRecordError
from hai_ffrecord.records import REMEDY, RecordFile

Array = Any
#: In batches of samples that are smaller on the average neighbours are read together, others are shared among threads.
LARGE = 32 << 10
#: So many bytes between two small samples are read rather than skipped: a call costs as much.
BRIDGED = 4 << 10
#: Below so many bytes in all, threads cost more than they bring.
WORTH_THREADS = 1 << 20
#: Large samples are read and checked in blocks of so many bytes.
BLOCK = 1 << 20


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
        starts, lengths, sums = file.locate(numbers)
        stops = lengths.cumsum()
        #: How many samples there are.
        self.count = len(lengths)
        #: Before which samples a call begins, where calls read more than one; None where each reads one.
        self._calls: list[int] | None = None
        if stops[-1] < LARGE * self.count:
            gaps = starts[1:] - (starts + lengths)[:-1]
            # Numbers below 0, of repeated samples, are very large without their sign.
            close = gaps.view(np.uint64) <= BRIDGED
            if np.count_nonzero(close):
                self._calls = [0, *(np.flatnonzero(~close) + 1).tolist(), self.count]
                stops[1:] += np.where(close, gaps, 0).cumsum()
        #: Bytes of memory that it takes.
        self.room = int(stops[-1])
        self._stops: list[int] = stops.tolist()
        self._begins: list[int] = (stops - lengths).tolist()
        self._lengths: list[int] = lengths.tolist()
        self._starts: list[int] = starts.tolist()
        self._sums: list[int] = sums.tolist()
        #: The samples, once there is memory for them.
        self.samples: list[Array] = []
        self._memory: Array = None

    def settle(self, memory: Array) -> None:
        """Take memory of `room` bytes for the samples."""
        self._memory = memory
        self.samples = list(map(memory.__getitem__, map(slice, self._begins, self._stops)))

    def read(self, check: bool) -> None:
        """Read all samples.

        Raises:
            FFRecordError: if one differs from its checksum, or the file became shorter.
        """
        if self.room >= LARGE * self.count:
            for place in range(self.count):
                self._read_large(place, check)
        elif self._calls is None:
            self._read_small(check)
        else:
            starts, begins, stops = self._starts, self._begins, self._stops
            for first, stop in zip(self._calls, self._calls[1:]):
                self._fill(self._memory[begins[first] : stops[stop - 1]], starts[first])
            if check:
                self._check()

    def _read_small(self, check: bool) -> None:
        # Calls of Python functions would cost as much as reading: these loops run in C.
        samples, starts = self.samples, self._starts
        got = list(map(os.preadv, repeat(self._file.fd), zip(samples), starts))
        if got != self._lengths:
            for sample, start in zip(samples, starts):
                self._fill(sample, start)
        if check:
            self._check()

    def _check(self) -> None:
        if list(map(crc32, self.samples)) != self._sums:
            wrong = next(place for place, sum_ in enumerate(self._sums) if crc32(self.samples[place]) != sum_)
            raise self._changed(wrong)

    def read_some(self, first: int, stop: int, check: bool) -> None:
        """Read the samples from `first` to before `stop`, each as large ones are read; raises as `read` does."""
        for place in range(first, stop):
            self._read_large(place, check)

    def _read_large(self, place: int, check: bool) -> None:
        """Read one sample block by block: what is checked at once is still in the cache then."""
        sample, start, sum_ = self.samples[place], self._starts[place], 0
        for at in range(0, len(sample), BLOCK):
            block = sample[at : at + BLOCK]
            self._fill(block, start + at)
            if check:
                sum_ = crc32(block, sum_)
        if check and sum_ != self._sums[place]:
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


def read_all(parts: list[Part], check: bool, crew: Crew) -> list[Array]:
    """The samples of all parts, one after another, as arrays of bytes.

    Raises:
        FFRecordError: if one differs from its checksum, or a file became shorter.
    """
    memory = np.empty(sum(part.room for part in parts), np.uint8)
    at = 0
    for part in parts:
        part.settle(memory[at : at + part.room])
        at += part.room
    count, size = sum(part.count for part in parts), len(memory)
    if crew.size > 1 and count > 1 and size >= max(WORTH_THREADS, count * LARGE):
        crew.do(_shares(parts, check, count, min(crew.size, count)))
    else:
        for part in parts:
            part.read(check)
    return parts[0].samples if len(parts) == 1 else [sample for part in parts for sample in part.samples]


def _shares(parts: list[Part], check: bool, count: int, shares: int) -> list[Callable[[], None]]:
    """The work in so many shares of about as many samples each."""
    work: list[list[Callable[[], None]]] = [[] for _ in range(shares)]
    begin = 0
    for part in parts:
        # What of this part falls into the share `at`.
        for at in range(shares):
            first = max(begin, count * at // shares) - begin
            stop = min(begin + part.count, count * (at + 1) // shares) - begin
            if first < stop:
                work[at].append(partial(part.read_some, first, stop, check))
        begin += part.count
    return [partial(_one_by_one, some) for some in work]


def _one_by_one(work: list[Callable[[], None]]) -> None:
    for some in work:
        some()
