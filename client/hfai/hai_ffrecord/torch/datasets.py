"""Data sets that are indexed by lists of numbers, so that a batch is read at once."""

from __future__ import annotations

from typing import Any, Iterable, Sequence

import numpy as np
from torch.utils.data import Dataset as TorchDataset

from hai_ffrecord.paths import Name
from hai_ffrecord.reader import FileReader


class ReaderRegistry:
    """Base class that finds the readers of an object: among its attributes, and those of nested registries."""

    def ffreaders(self) -> list[FileReader]:
        """Return all readers, those of this object first."""
        values = list(vars(self).values())
        below = [reader for value in values if isinstance(value, ReaderRegistry) for reader in value.ffreaders()]
        return [value for value in values if isinstance(value, FileReader)] + below


class Dataset(TorchDataset, ReaderRegistry):
    """A data set over FFRecord files.

    `dataset[[3, 1, 4]]` reads three samples at once and hands their bytes to `process`, which a subclass defines. A
    subclass may also define `__getitem__` (of a list) and `__len__` of its own, over readers of its own. The loader of
    this package and PyTorch's both ask for whole batches.

    Args:
        fnames: a file, a list of files, or a folder of files.
        check_data: check samples against their checksums.
    """

    def __init__(self, fnames: Name | Sequence[Name], check_data: bool = True) -> None:
        self.fnames = fnames
        self.reader = FileReader(fnames, check_data)

    def __len__(self) -> int:
        """How many samples there are."""
        return self.reader.n

    def __getitem__(self, indices: Sequence[int]) -> Any:
        """Return the samples of these numbers, as `process` makes them.

        Raises:
            TypeError: if `indices` is not a list or a tuple.
        """
        if not isinstance(indices, (list, tuple)):
            raise TypeError(f"indices must be a list of numbers, not {type(indices).__name__}: write dataset[[i]]")
        return self.process(list(indices), self.reader.read(indices))

    def __getitems__(self, indices: list[int]) -> Any:
        """Return the samples of a batch, for PyTorch's loader."""
        return self[indices]

    def process(self, indices: list[int], data: list[Any]) -> Any:
        """Make samples of bytes.

        Args:
            indices: their numbers.
            data: their bytes, as arrays (uint8).

        Returns:
            A list of samples, which goes to the loader's `collate_fn`.
        """
        raise NotImplementedError(f"{type(self).__name__} must define process(indices, data), or __getitem__(indices)")

    def __add__(self, other: Dataset) -> ConcatDataset:
        return ConcatDataset([self, other])


class Subset(Dataset):
    """Some samples of a data set, in an order of their own.

    Args:
        dataset: the whole.
        indices: numbers of samples in it.
    """

    def __init__(self, dataset: Dataset, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __len__(self) -> int:
        """How many samples there are."""
        return len(self.indices)

    def __getitem__(self, indices: Sequence[int]) -> Any:
        """Return the samples at these places."""
        return self.dataset[[int(self.indices[index]) for index in indices]]


class ConcatDataset(Dataset):
    """Data sets one after another.

    Args:
        datasets: at least one, each of this package.

    Raises:
        ValueError: if there is none.
        TypeError: if one is of another kind.
    """

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("datasets is empty: name at least one")
        for one in self.datasets:
            if not isinstance(one, Dataset):
                raise TypeError(f"datasets has a {type(one).__name__}: only hai_ffrecord.torch.Dataset can be joined")
        #: For each data set, the number of samples up to its end.
        self.cumulative_sizes: list[int] = np.cumsum([len(one) for one in self.datasets]).tolist()

    def __len__(self) -> int:
        """How many samples there are."""
        return self.cumulative_sizes[-1]

    def __getitem__(self, indices: Sequence[int]) -> list[Any]:
        """Return the samples of these numbers; numbers below 0 count from the end.

        Raises:
            IndexError: if there is no such sample.
        """
        wanted = [self._from_start(int(index)) for index in indices]
        found: list[Any | None] = [None] * len(wanted)
        of = np.searchsorted(self.cumulative_sizes, wanted, "right").tolist()
        for at in sorted(set(of)):
            before = self.cumulative_sizes[at - 1] if at else 0
            places = [place for place, which in enumerate(of) if which == at]
            samples = self.datasets[at][[wanted[place] - before for place in places]]
            for place, sample in zip(places, samples):
                found[place] = sample
        return found

    def ffreaders(self) -> list[FileReader]:
        """Return the readers of all data sets."""
        return [reader for one in self.datasets for reader in one.ffreaders()]

    def _from_start(self, index: int) -> int:
        if not -len(self) <= index < len(self):
            raise IndexError(f"there is no sample {index} among {len(self)}")
        return index % len(self)
