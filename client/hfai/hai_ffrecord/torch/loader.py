"""A loader that reads whole batches and can begin in the middle of an epoch."""

from __future__ import annotations

from typing import Any, Iterator

from torch.utils.data import DataLoader as TorchDataLoader
from torch.utils.data import Sampler

from hai_ffrecord.torch.datasets import Dataset

#: What PyTorch reads ahead, batches a worker.
PREFETCHED = 2


class SkippableSampler(Sampler):
    """Yields the batches of another sampler from a step on.

    The other sampler still makes all batches of the epoch, so that its random numbers, and so the remaining batches,
    are the same as without the skip.

    Args:
        sampler: has a length, and yields lists of numbers.
    """

    def __init__(self, sampler: Any) -> None:
        #: The sampler of all batches.
        self.sampler = sampler
        #: The number of batches to skip.
        self.step = 0

    def __iter__(self) -> Iterator[list[int]]:
        step = self.step
        for number, batch in enumerate(self.sampler):
            if number >= step:
                yield batch

    def __len__(self) -> int:
        """Return how many batches are left."""
        return len(self.sampler) - self.step

    def set_step(self, step: int) -> None:
        """Begin every epoch with this step, counted from 0, until another one is set."""
        self.step = step


class _Lists:
    """Numbers as lists of one, because the data sets of this package take lists."""

    def __init__(self, sampler: Any) -> None:
        self.sampler = sampler

    def __iter__(self) -> Iterator[list[int]]:
        for index in self.sampler:
            yield [index]

    def __len__(self) -> int:
        return len(self.sampler)


class DataLoader(TorchDataLoader):
    """PyTorch's loader, for data sets of this package and others, with `set_step`.

    An epoch that was interrupted goes on where it was: seed the sampler (or `generator`) as at the epoch's beginning,
    `set_step(k)`, and exactly the batches after the first k come.

    Args:
        skippable: whether `set_step` can be used. PyTorch Lightning, which puts in samplers of its own, wants False.
        multiprocessing_context: how workers are started: "fork", as always by the original, unless another is named.
            Readers can be used after a fork, and are opened again by "spawn" and "forkserver".
        prefetch_factor: batches that each worker reads ahead (2 where there are workers).
        **more: what else the installed PyTorch's loader takes.

    All other arguments are PyTorch's, in the original's order.

    Raises:
        ValueError: if there are no batches to skip (`batch_size=None`) and `skippable` is not False.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = False,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Any = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        multiprocessing_context: Any = None,
        skippable: bool = True,
        **more: Any,
    ) -> None:
        if num_workers:
            more["multiprocessing_context"] = multiprocessing_context or "fork"
            more["prefetch_factor"] = prefetch_factor or PREFETCHED
        #: Whether `set_step` can be used.
        self.skippable = skippable
        super().__init__(
            dataset,
            batch_size=batch_size,
            shuffle=shuffle,
            sampler=sampler,
            batch_sampler=batch_sampler,
            num_workers=num_workers,
            collate_fn=collate_fn,
            pin_memory=pin_memory,
            drop_last=drop_last,
            timeout=timeout,
            worker_init_fn=worker_init_fn,
            generator=generator,
            persistent_workers=persistent_workers,
            **more,
        )
        # PyTorch forbids setting these on a finished loader; the reasons do not hold here, as no epoch has begun.
        if self.batch_sampler is not None:
            if skippable:
                object.__setattr__(self, "batch_sampler", SkippableSampler(self.batch_sampler))
        elif skippable:
            raise ValueError("batch_size is None, so there are no steps to skip: say skippable=False, or a batch_size")
        elif isinstance(dataset, Dataset):
            object.__setattr__(self, "sampler", _Lists(self.sampler))

    def set_step(self, step: int) -> None:
        """Begin at a step of the epoch: this epoch and all that follow, until another is set (0: the beginning).

        Args:
            step: how many batches are left out, at most all of them.

        Raises:
            RuntimeError: if the loader was made with `skippable=False`.
            ValueError: if the epoch has fewer batches.
        """
        if not self.skippable:
            raise RuntimeError("this loader was made with skippable=False: it cannot begin in the middle")
        whole = len(self.batch_sampler.sampler)
        if not 0 <= step <= whole:
            raise ValueError(f"step is {step}: the epoch has {whole} batches")
        self.batch_sampler.set_step(step)
