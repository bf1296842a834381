"""The loader: batches at once, in any kind of worker, and an epoch that goes on in the middle."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from frameworks.hai_ffrecord.conftest import N  # noqa: E402
from frameworks.hai_ffrecord.number_files import Numbers, batches  # noqa: E402
from hai_ffrecord.torch import DataLoader  # noqa: E402

# Two workers on a machine of one core, and a fork beside threads, are said of.
pytestmark = [
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning"),
]


@pytest.fixture
def numbers(file: Path) -> Numbers:
    return Numbers(str(file))


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
