"""The checksum of samples one after another is what their own checksums make together."""

from __future__ import annotations

import random
import zlib
from pathlib import Path

import numpy as np
import pytest

from hai_ffrecord import FFRecordError, FileReader, combining
from kit.ffrecord_files import lay_out


@pytest.fixture(autouse=True)
def _no_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(combining, "_tables", {})


def sums_of(samples: list[bytes]) -> np.ndarray:
    return np.array([zlib.crc32(sample) for sample in samples], np.uint32)


@pytest.mark.parametrize("size", [1, 4, 1000, 1024, combining.LARGEST])
@pytest.mark.parametrize("count", [combining.LEAST, 64, combining.MOST])
def test_it_is_the_checksum_of_all_bytes(size: int, count: int) -> None:
    samples = [random.Random(at).randbytes(size) for at in range(count)]
    assert combining.combined(sums_of(samples), size) == zlib.crc32(b"".join(samples))


@pytest.mark.parametrize(
    ("count", "size"),
    [(combining.LEAST - 1, 8), (combining.MOST + 1, 8), (64, 0), (64, combining.LARGEST + 1)],
)
def test_few_many_empty_and_large_samples_are_summed_one_by_one(count: int, size: int) -> None:
    assert combining.combined(sums_of([bytes(size)] * count), size) is None


def test_tables_are_kept_for_some_sizes_only() -> None:
    sizes = range(1, combining.SIZES + 2)
    found = [combining.combined(sums_of([bytes(size)] * 16), size) for size in sizes]
    assert found == [*(zlib.crc32(bytes(16 * size)) for size in sizes[:-1]), None]


@pytest.mark.parametrize("change", ["bit", "swapped", "others"])
def test_what_is_wrong_in_a_batch_of_one_size_is_named(tmp_path: Path, change: str) -> None:
    samples = [random.Random(at).randbytes(64) for at in range(1000)]
    path = lay_out(tmp_path / "a.ffr", samples)
    begin = 12 + 12 * len(samples)
    data = bytearray(path.read_bytes())
    first = begin + 300 * 64
    if change == "bit":
        data[first + 63] ^= 128
    elif change == "swapped":
        data[first : first + 128] = samples[301] + samples[300]
    else:
        data[first : first + 64] = samples[7]
    path.write_bytes(data)
    reader = FileReader(path)
    near, apart = list(range(280, 344)), list(range(0, 1000, 12))
    for batch in (near, apart):
        assert 300 in batch
        random.Random(1).shuffle(batch)
        with pytest.raises(FFRecordError, match="sample 300 differs from its checksum"):
            reader.read(batch)
        rest = [at for at in batch if at not in (300, 301)]
        assert [one.tobytes() for one in reader.read(rest)] == [samples[at] for at in rest]
