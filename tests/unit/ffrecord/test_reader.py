"""Reading: any samples in any order, from any number of files, also by threads, after a fork and in another process."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_ffrecord import FFRecordError, FileReader, batches, records
from kit.ffrecord_files import laid_out, lay_out

#: None and many, so that batches are read in every way.
SIZES = st.lists(st.integers(0, 90), max_size=30)


def samples_of(sizes: list[int]) -> list[bytes]:
    return [random.Random(at).randbytes(size) for at, size in enumerate(sizes)]


def descriptors() -> list[str]:
    return sorted(path.name for path in Path("/proc/self/fd").iterdir())


def as_bytes(found: list[np.ndarray]) -> list[bytes]:
    return [sample.tobytes() for sample in found]


@given(
    sizes=st.lists(SIZES, min_size=1, max_size=5),
    data=st.data(),
    check=st.booleans(),
    threads=st.integers(1, 3),
    large=st.sampled_from([1, 20, 1000]),
    mapped=st.booleans(),
)
def test_any_batch_is_what_was_written(
    tmp_path_factory: pytest.TempPathFactory,
    sizes: list[list[int]],
    data: st.DataObject,
    check: bool,
    threads: int,
    large: int,
    mapped: bool,
) -> None:
    folder = tmp_path_factory.mktemp("any")
    samples = samples_of([size for file in sizes for size in file])
    left = iter(samples)
    for at, file in enumerate(sizes):
        lay_out(folder / f"{at:03d}.ffr", [next(left) for _ in file])
    indices = data.draw(st.lists(st.integers(0, len(samples) - 1), max_size=40)) if samples else []
    with pytest.MonkeyPatch.context() as patch:
        # So that samples of a few bytes are large, and neighbours of a few bytes far away.
        patch.setattr(batches, "LARGE", large)
        patch.setattr(batches, "WORTH_THREADS", 1)
        patch.setattr(batches, "BRIDGED", 30)
        patch.setattr(batches, "BLOCK", 16)
        patch.setattr(records, "IN_MEMORY", 0 if mapped else 1 << 20)
        with FileReader(folder, check, threads=threads) as reader:
            assert reader.n == len(reader) == len(samples)
            assert as_bytes(reader.read(indices)) == [samples[index] for index in indices]


@pytest.fixture
def samples() -> list[bytes]:
    return samples_of([100, 0, 5000, 70_000, 3 << 20, 12, 40_000])


@pytest.fixture
def file(tmp_path: Path, samples: list[bytes]) -> Path:
    return lay_out(tmp_path / "a.ffr", samples)


def test_samples_have_their_own_memory(file: Path, samples: list[bytes]) -> None:
    first, again, other = FileReader(file).read([0, 0, 2])
    first[:] = 0
    assert (first.dtype, first.ndim) == (np.uint8, 1)
    assert again.tobytes() == samples[0]
    assert other.tobytes() == samples[2]


@pytest.mark.parametrize("kind", [list, tuple, np.array], ids=["list", "tuple", "array"])
def test_numbers_come_in_any_sequence(file: Path, samples: list[bytes], kind: Callable[[list[int]], object]) -> None:
    assert as_bytes(FileReader(file).read(kind([6, 0]))) == [samples[6], samples[0]]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "indices", [[7], [-1], [0, 2**63 - 1], [0, -(2**62)]], ids=["behind", "before", "far", "negative"]
)
def test_there_is_no_such_sample(file: Path, indices: list[int]) -> None:
    with pytest.raises(IndexError, match="these 7 samples"):
        FileReader(file).read(indices)


@pytest.mark.parametrize("indices", [[0.0], ["0"], [[0]], [True], 3, None], ids=str)
def test_numbers_that_are_none(file: Path, indices: object) -> None:
    with pytest.raises(TypeError, match="whole numbers"):
        FileReader(file).read(indices)  # type: ignore[arg-type]


def test_a_closed_reader_says_so(file: Path) -> None:
    with FileReader(file) as reader:
        pass
    with pytest.raises(ValueError, match="closed"):
        reader.read([0])
    reader.close()


def test_close_leaves_no_descriptor(file: Path) -> None:
    before = descriptors()
    reader = FileReader([file] * 5)
    reader.read([0])
    reader.close()
    assert descriptors() == before


def test_what_cannot_be_opened_leaves_no_descriptor(file: Path, tmp_path: Path) -> None:
    (tmp_path / "b.ffr").write_bytes(b"short")
    before = descriptors()
    with pytest.raises(FFRecordError):
        FileReader([file, tmp_path / "b.ffr"])
    assert descriptors() == before


@pytest.mark.parametrize("index", [0, 2, 3, 4, 6])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_changed_sample_is_named(file: Path, index: int, threads: int) -> None:
    changed = bytearray(file.read_bytes())
    at = int(FileReader(file).get_offsets(0)[index])
    changed[at] ^= 1
    file.write_bytes(changed)
    reader = FileReader(file, threads=threads)
    for batch in ([index], list(range(7)), [5, 1, index, 4]):
        with pytest.raises(FFRecordError, match=rf"a\.ffr: sample {index} differs from its checksum"):
            reader.read(batch)
    assert len(reader.read([5, 1])) == 2
    assert len(FileReader(file, check_data=False).read([index])[0])


def test_of_a_later_file_both_numbers_are_named(tmp_path: Path) -> None:
    lay_out(tmp_path / "a.ffr", [b"1", b"2"])
    other = lay_out(tmp_path / "b.ffr", [b"3", b"4"])
    other.write_bytes(other.read_bytes()[:-1] + b"!")
    with pytest.raises(FFRecordError, match=r"b\.ffr: sample 1 \(sample 3 of all files\)"):
        FileReader(tmp_path).read([0, 3])


def test_a_file_that_becomes_shorter_gives_no_sample(file: Path) -> None:
    reader = FileReader(file, check_data=False)
    os.truncate(file, reader.get_offsets(0)[4] + 10)
    for batch in ([4], [6], [0, 2, 5]):
        with pytest.raises(FFRecordError, match="became shorter"):
            reader.read(batch)


def test_calls_that_read_less_than_asked_are_repeated(
    file: Path, samples: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    preadv = os.preadv
    reader = FileReader(file, threads=2)
    monkeypatch.setattr(os, "preadv", lambda fd, into, at: preadv(fd, [memoryview(into[0])[:9999]], at))
    for batch in (list(range(7)), [0, 2], [3], [2, 5]):
        assert as_bytes(reader.read(batch)) == [samples[index] for index in batch]


def test_neighbours_are_read_with_one_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = samples_of([1000] * 64)
    reader = FileReader(lay_out(tmp_path / "a.ffr", samples))
    calls: list[int] = []
    preadv = os.preadv

    def counted(fd: int, into: list[np.ndarray], at: int) -> int:
        calls.append(at)
        return preadv(fd, into, at)

    monkeypatch.setattr(os, "preadv", counted)
    shuffled = random.Random(0).sample(range(64), 64)
    assert as_bytes(reader.read(shuffled)) == [samples[index] for index in shuffled]
    assert len(calls) == 1


def test_index_and_checksums_can_be_had(file: Path, samples: list[bytes]) -> None:
    reader = FileReader(file)
    offsets = reader.get_offsets(0)
    assert np.diff(offsets).tolist() == [len(sample) for sample in samples]
    assert (offsets.dtype, offsets[-1]) == (np.int64, file.stat().st_size)
    assert reader.get_checksums(0).dtype == np.uint32
    reader.validate()


def test_an_old_file_has_no_checksum_of_its_index(tmp_path: Path) -> None:
    path = lay_out(tmp_path / "a.ffr", [b"1", b"2"], old=True)
    with pytest.warns(UserWarning, match="old version"):
        reader = FileReader(path)
    assert as_bytes(reader.read([1])) == [b"2"]


def test_a_reader_is_pickled_by_its_names(file: Path, samples: list[bytes]) -> None:
    reader = FileReader(file, False, threads=2)
    again = pickle.loads(pickle.dumps(reader))
    assert (again.fnames, again.check_data, again._threads) == (reader.fnames, False, 2)
    assert as_bytes(again.read([2])) == [samples[2]]


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_another_process_reads_with_it(file: Path, samples: list[bytes], method: str) -> None:
    reader = FileReader(file, threads=3)
    # Its threads run by now, and do not in a child.
    assert as_bytes(reader.read(list(range(7)))) == samples
    context = multiprocessing.get_context(method)
    receiving, sending = context.Pipe(duplex=False)
    child = context.Process(target=_send, args=(sending, reader))
    child.start()
    try:
        assert receiving.poll(60)
        assert receiving.recv() == samples
    finally:
        child.join()


def _send(sending: multiprocessing.connection.Connection, reader: FileReader) -> None:
    sending.send(as_bytes(reader.read(list(range(7)))))


def test_threads_of_the_caller_share_a_reader(file: Path, samples: list[bytes]) -> None:
    reader = FileReader(file, threads=2)
    batches_ = [random.Random(at).choices(range(7), k=9) for at in range(60)]
    with ThreadPoolExecutor(4) as pool:
        for batch, found in zip(batches_, pool.map(reader.read, batches_), strict=True):
            assert as_bytes(found) == [samples[index] for index in batch]


def test_the_index_of_a_thousand_million_samples_is_not_read(tmp_path: Path) -> None:
    n = 10**9
    path = tmp_path / "sparse.ffr"
    begin = 12 + 12 * n
    last = laid_out([b"the last"])
    with path.open("wb") as sparse:
        sparse.write(b"\1\0\0\0" + n.to_bytes(8, "little"))
        sparse.seek(12 + 4 * n)
        sparse.write(begin.to_bytes(8, "little"))
        sparse.seek(12 + 4 * (n - 1))
        sparse.write(last[12:16])
        sparse.seek(begin - 8)
        sparse.write((begin + 5).to_bytes(8, "little"))
        sparse.write(b"first" + b"the last")
    took = []
    for _ in range(5):
        began = time.perf_counter()
        reader = FileReader(path, check_data=False)
        took.append(time.perf_counter() - began)
        assert reader.n == n
        assert as_bytes(reader.read([n - 1])) == [b"the last"]
        with pytest.raises(FFRecordError, match=r"sample 500 goes from byte 0 to byte 0"):
            reader.read([n - 1, 500])
        reader.close()
    # Reading 12 GB would take seconds: the best of five tries shows that no reader does, however loaded the machine is.
    assert min(took) < 0.05
