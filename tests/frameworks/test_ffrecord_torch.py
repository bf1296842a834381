"""FFRecord in PyTorch: batches at once, in any kind of worker, and an epoch that goes on in the middle."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from hai_ffrecord import FileReader  # noqa: E402
from hai_ffrecord.torch import ConcatDataset, DataLoader, Dataset, ReaderRegistry, Subset  # noqa: E402
from kit.ffrecord_files import lay_out  # noqa: E402

N = 53
# Two workers on a machine of one core, and a fork beside threads, are said of.
pytestmark = [
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning"),
]


class Numbers(Dataset):
    """Sample i is the number i; how often it was read is counted."""

    calls = 0

    def process(self, indices: list[int], data: list[Any]) -> list[int]:
        self.calls += 1
        found = [struct.unpack("<q", sample.tobytes())[0] for sample in data]
        assert found == [index % 1000 for index in indices]
        return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return lay_out(tmp_path / "a.ffr", [struct.pack("<q", at) for at in range(N)])


@pytest.fixture
def numbers(file: Path) -> Numbers:
    return Numbers(str(file))


def batches(loader: Any) -> list[list[int]]:
    return [batch.tolist() for batch in loader]


def shuffled(dataset: Any, **options: Any) -> Any:
    """A loader whose epoch is that of seed 7."""
    return DataLoader(dataset, 4, shuffle=True, generator=torch.Generator().manual_seed(7), **options)


def test_a_batch_is_read_at_once(numbers: Numbers) -> None:
    assert batches(DataLoader(numbers, 10)) == [list(range(at, min(at + 10, N))) for at in range(0, N, 10)]
    assert numbers.calls == 6


def test_torchs_own_loader_reads_a_batch_at_once_too(numbers: Numbers) -> None:
    assert batches(torch.utils.data.DataLoader(numbers, 10))[1] == list(range(10, 20))
    assert numbers.calls == 6


@pytest.mark.parametrize("how", [None, "fork", "spawn", "forkserver"])
def test_workers_of_every_kind_read(numbers: Numbers, how: str | None) -> None:
    loader = shuffled(numbers, num_workers=2, multiprocessing_context=how)
    assert loader.multiprocessing_context.get_start_method() == (how or "fork")
    assert batches(loader) == batches(shuffled(numbers))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("step", [0, 1, 7, 13, 14])
def test_an_epoch_goes_on_with_exactly_what_is_left(numbers: Numbers, step: int, workers: int) -> None:
    whole = batches(shuffled(numbers))
    assert sorted(chain.from_iterable(whole)) == list(range(N))
    loader = shuffled(numbers, num_workers=workers)
    loader.set_step(step)
    assert len(loader) == len(whole) - step
    assert batches(loader) == whole[step:]


def test_what_is_skipped_is_not_read(numbers: Numbers) -> None:
    loader = shuffled(numbers)
    loader.set_step(10)
    assert len(batches(loader)) == numbers.calls == 4


def test_later_epochs_are_those_of_a_run_without_an_interruption(numbers: Numbers) -> None:
    loader = shuffled(numbers, num_workers=2, persistent_workers=True)
    expected = [batches(loader) for _ in range(3)]
    again = shuffled(numbers, num_workers=2, persistent_workers=True)
    again.set_step(5)
    assert batches(again) == expected[0][5:]
    again.set_step(0)
    assert [batches(again), batches(again)] == expected[1:]


@pytest.mark.parametrize("rank", [0, 1])
def test_with_the_sampler_of_a_rank(numbers: Numbers, rank: int) -> None:
    sampler = torch.utils.data.DistributedSampler(numbers, 2, rank, seed=3)
    sampler.set_epoch(2)
    loader = DataLoader(numbers, 4, sampler=sampler)
    whole = batches(loader)
    loader.set_step(3)
    assert batches(loader) == whole[3:]


def test_with_a_sampler_of_batches(numbers: Numbers) -> None:
    loader = DataLoader(numbers, batch_sampler=[[3, 1], [4], [1, 5, 9]])
    loader.set_step(1)
    assert batches(loader) == [[4], [1, 5, 9]]


@pytest.mark.parametrize("step", [-1, 15])
def test_there_is_no_such_step(numbers: Numbers, step: int) -> None:
    with pytest.raises(ValueError, match="the epoch has 14 batches"):
        shuffled(numbers).set_step(step)


def test_without_batches_nothing_can_be_skipped(numbers: Numbers) -> None:
    with pytest.raises(ValueError, match="skippable=False"):
        DataLoader(numbers, None)
    loader = DataLoader(numbers, None, skippable=False)
    assert [list(one) for one in loader] == [[at] for at in range(N)]
    with pytest.raises(RuntimeError, match="skippable=False"):
        DataLoader(numbers, 4, skippable=False).set_step(1)


def test_other_data_sets_are_loaded_as_torch_loads_them() -> None:
    loader = DataLoader(list(range(10)), 4, prefetch_factor=2)
    loader.set_step(1)
    assert batches(loader) == [[4, 5, 6, 7], [8, 9]]


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


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
