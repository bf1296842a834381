"""Data sets that are indexed by lists: parts of them, several together, and the readers that they have."""

from __future__ import annotations

import struct
from itertools import chain
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from frameworks.hai_ffrecord.conftest import N  # noqa: E402
from frameworks.hai_ffrecord.number_files import Numbers, batches  # noqa: E402
from hai_ffrecord import FileReader  # noqa: E402
from hai_ffrecord.torch import ConcatDataset, DataLoader, Dataset, ReaderRegistry, Subset  # noqa: E402
from kit.ffrecord_files import lay_out  # noqa: E402


@pytest.fixture
def numbers(file: Path) -> Numbers:
    return Numbers(str(file))


def test_a_data_set_takes_lists_only(numbers: Numbers) -> None:
    assert numbers[[3, 1]] == [3, 1]
    with pytest.raises(TypeError, match=r"dataset\[\[i\]\]"):
        numbers[3]  # type: ignore[index]
    with pytest.raises(NotImplementedError, match="Dataset must define process"):
        Dataset(numbers.fnames)[[0]]


class Doubled(Dataset):
    """Defines how it is indexed itself, as in the original's manual."""

    def __init__(self, file: Path) -> None:
        self.reader = FileReader(file)

    def __len__(self) -> int:
        return self.reader.n

    def __getitem__(self, indices: list[int]) -> list[int]:
        return [2 * struct.unpack("<q", data)[0] for data in self.reader.read(indices)]


def test_a_data_set_with_an_index_of_its_own(file: Path) -> None:
    assert batches(DataLoader(Doubled(file), 3))[1] == [6, 8, 10]


def test_part_of_a_data_set(numbers: Numbers) -> None:
    part = Subset(numbers, torch.tensor([5, 50, 7]))
    assert (len(part), part[[2, 0, 2]]) == (3, [7, 5, 7])
    (some, rest) = torch.utils.data.random_split(numbers, [13, 40])
    found = sorted(chain.from_iterable(batches(DataLoader(some, 5)) + batches(DataLoader(rest, 5))))
    assert found == list(range(N))


def test_data_sets_one_after_another(numbers: Numbers, tmp_path: Path) -> None:
    other = Numbers(lay_out(tmp_path / "b.ffr", [struct.pack("<q", at) for at in range(3)]))
    both = numbers + other
    assert isinstance(both, ConcatDataset)
    assert len(both) == N + 3
    # Also the same sample twice in a batch.
    assert both[[N + 2, 0, N, -1, 0]] == [2, 0, 0, 2, 0]
    assert batches(DataLoader(both, 10))[-1] == [50, 51, 52, 0, 1, 2]
    with pytest.raises(IndexError, match="no sample 56 among 56"):
        both[[N + 3]]
    with pytest.raises(ValueError, match="empty"):
        ConcatDataset([])
    with pytest.raises(TypeError, match="has a list"):
        ConcatDataset([[1]])  # type: ignore[list-item]


class Two(ReaderRegistry):
    def __init__(self, file: Path) -> None:
        self.first, self.second = FileReader(file), FileReader(file)


class Three(Dataset):
    def __init__(self, file: Path) -> None:
        self.reader, self.other = FileReader(file), Two(file)


def test_readers_of_an_object_are_known(file: Path) -> None:
    three = Three(file)
    assert three.ffreaders() == [three.reader, three.other.first, three.other.second]
    assert len(ConcatDataset([three, Numbers(file)]).ffreaders()) == 4


def test_the_originals_names(file: Path) -> None:
    import ffrecord.torch
    import ffrecord.torch.dataloader
    import ffrecord.torch.dataset

    assert ffrecord.torch.DataLoader is ffrecord.torch.dataloader.DataLoader is DataLoader
    assert ffrecord.torch.Dataset is ffrecord.torch.dataset.Dataset is Dataset
