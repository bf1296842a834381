"""Many small samples with one call of the kernel, and what happens where it refuses or stops in between."""

from __future__ import annotations

import ctypes
import errno
import multiprocessing
import os
import platform
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hai_ffrecord import FFRecordError, FileReader, batches, submitting
from kit.ffrecord_files import lay_out

#: Odd sizes, and more than one call takes.
SAMPLES = [random.Random(at).randbytes(700 + 13 * (at % 5)) for at in range(1000)]
#: Far from each other in the file: none is read together with another.
APART = range(0, 1000, 7)
SHUFFLED = random.Random(1).sample(APART, len(APART))
WANTED = [SAMPLES[at] for at in SHUFFLED]

needs_queues = pytest.mark.skipif(submitting._CALL is None, reason="no numbers of system calls for this machine")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay_out(tmp_path_factory.mktemp("submitting") / "a.ffr", SAMPLES)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The places in the file that were read with `preadv`."""
    found: list[int] = []
    preadv = os.preadv

    def counted(fd: int, into: Any, at: int) -> int:
        found.append(at)
        return preadv(fd, into, at)

    monkeypatch.setattr(os, "preadv", counted)
    return found


def read(reader: FileReader, indices: list[int] = SHUFFLED) -> list[bytes]:
    return [sample.tobytes() for sample in reader.read(indices)]


@needs_queues
def test_more_samples_than_one_call_takes_come_without_a_call_for_each(path: Path, calls: list[int]) -> None:
    assert len(SHUFFLED) > batches.MANY
    reader = FileReader(path)
    calls.clear()
    assert read(reader) == WANTED
    assert read(reader, SHUFFLED * 5) == WANTED * 5
    assert calls == []
    assert len(SHUFFLED * 5) > 2 * submitting.AT_ONCE


def test_where_the_kernel_refuses_they_are_read_one_by_one(
    path: Path, calls: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submitting, "_CALL", lambda *_: -1)
    reader = FileReader(path)
    calls.clear()
    assert read(reader) == WANTED
    assert len(calls) == len(SHUFFLED)


@needs_queues
@pytest.mark.parametrize("call", [2, 3], ids=["io_submit", "io_getevents"])
def test_where_a_call_fails_they_are_read_one_by_one(path: Path, call: int, monkeypatch: pytest.MonkeyPatch) -> None:
    real = submitting._CALL
    numbers = submitting._CALLS[platform.machine()]
    failing = {2: numbers[3], 3: numbers[2]}[call]
    monkeypatch.setattr(submitting, "_CALL", lambda number, *rest: -1 if number == failing else real(number, *rest))
    reader = FileReader(path)
    assert read(reader) == WANTED
    assert reader._queues._idle == []


@needs_queues
def test_a_wait_that_a_signal_interrupts_goes_on(path: Path, calls: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    real = submitting._CALL
    getevents = submitting._CALLS[platform.machine()][2]
    interrupted = iter([True, False, True])

    def call(number: int, *rest: int) -> int:
        if number == getevents and next(interrupted, False):
            ctypes.set_errno(errno.EINTR)
            return -1
        return int(real(number, *rest))

    monkeypatch.setattr(submitting, "_CALL", call)
    reader = FileReader(path)
    calls.clear()
    assert read(reader) == WANTED
    assert calls == []


@needs_queues
def test_an_exception_in_between_gives_the_queue_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = submitting._CALL
    _, destroy, getevents, _ = submitting._CALLS[platform.machine()]
    asked: list[int] = []

    def call(number: int, *rest: int) -> int:
        asked.append(number)
        if number == getevents:
            raise KeyboardInterrupt
        return int(real(number, *rest))

    reader = FileReader(path)
    with monkeypatch.context() as patch:
        patch.setattr(submitting, "_CALL", call)
        with pytest.raises(KeyboardInterrupt):
            reader.read(SHUFFLED)
        assert asked[-1] == destroy
    assert read(reader) == WANTED


def test_a_file_that_becomes_shorter_is_an_error(tmp_path: Path) -> None:
    path = lay_out(tmp_path / "a.ffr", SAMPLES)
    reader = FileReader(path, check_data=False)
    os.truncate(path, reader.get_offsets(0)[600] + 10)
    with pytest.raises(FFRecordError, match="became shorter"):
        reader.read(SHUFFLED)
    kept = [at for at in SHUFFLED if at < 600]
    assert read(reader, kept) == [SAMPLES[at] for at in kept]


def test_a_changed_sample_among_many_is_named(tmp_path: Path) -> None:
    path = lay_out(tmp_path / "a.ffr", SAMPLES)
    at = SHUFFLED[5]
    changed = bytearray(path.read_bytes())
    changed[int(FileReader(path).get_offsets(0)[at]) + 3] ^= 1
    path.write_bytes(changed)
    with pytest.raises(FFRecordError, match=rf"sample {at} differs from its checksum"):
        FileReader(path).read(SHUFFLED)


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_child_has_a_queue_of_its_own(path: Path) -> None:
    reader = FileReader(path)
    assert read(reader) == WANTED
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sending.send((read(reader), [one._process for one in reader._queues._idle])))
    child.start()
    try:
        assert receiving.poll(60)
        found, processes = receiving.recv()
    finally:
        child.join()
    assert found == WANTED
    assert processes in ([], [child.pid])
    assert read(reader) == WANTED


def test_threads_share_a_reader(path: Path) -> None:
    reader = FileReader(path)
    with ThreadPoolExecutor(4) as pool:
        assert all(found == WANTED for found in pool.map(lambda _: read(reader), range(40)))
    reader.close()
    assert reader._queues._idle == []
