"""The memory of a batch is used again when no code holds the batch any more, and never before."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from hai_ffrecord import FileReader, spare
from hai_ffrecord.spare import Spare
from kit.ffrecord_files import lay_out

SAMPLES = [random.Random(at).randbytes(40_000) for at in range(64)]


@pytest.fixture
def reader(tmp_path: Path) -> FileReader:
    return FileReader(lay_out(tmp_path / "a.ffr", SAMPLES), threads=2)


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def test_a_batch_has_the_memory_of_one_that_was_given_up(reader: FileReader) -> None:
    first = address(reader.read(range(40))[0])
    assert address(reader.read(range(20, 60))[0]) == first


@pytest.mark.parametrize(
    "holding",
    [
        lambda batch: batch[17],
        lambda batch: batch[17][3:],
        lambda batch: memoryview(batch[17]),
        lambda batch: batch[17].reshape(200, 200),
        lambda batch: batch[17].view(np.uint16),
    ],
    ids=["sample", "slice", "memoryview", "shape", "type"],
)
def test_a_sample_that_is_still_held_is_not_written_over(reader: FileReader, holding) -> None:
    kept = holding(reader.read(range(40)))
    before = bytes(kept)
    for _ in range(3):
        assert [sample.tobytes() for sample in reader.read(range(24, 64))] == SAMPLES[24:]
    assert bytes(kept) == before


def test_a_sample_outlives_its_reader(reader: FileReader) -> None:
    batch = reader.read(range(40))
    reader.close()
    assert batch[39].tobytes() == SAMPLES[39]


def test_only_so_much_is_kept() -> None:
    home = Spare()
    blocks = [home.take(spare.LEAST) for _ in range(5)]
    assert len({address(block) for block in blocks}) == 5
    del blocks
    assert len(home._blocks) == spare.KEPT
    home.take(spare.MOST + 1)
    home.take(spare.LEAST - 1)
    assert len(home._blocks) == spare.KEPT
    home.close()
    assert not home._blocks


def test_a_block_that_is_much_too_large_is_given_back_to_the_system() -> None:
    home = Spare()
    home.take(8 * spare.LEAST)
    held = home.take(spare.LEAST)
    assert not home._blocks
    assert len(held) == spare.LEAST
