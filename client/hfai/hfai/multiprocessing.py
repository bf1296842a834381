"""`torch.multiprocessing` under the original's name, with trainers bound to the NUMA nodes of their machine."""

from __future__ import annotations

from typing import Any, Callable

import torch.multiprocessing as _torch

from hfai import _numa


class _Bound:
    """A trainer's function that first takes its share of the machine's processors. It can be pickled."""

    def __init__(self, function: Callable[..., Any], trainers: int) -> None:
        self._function = function
        self._trainers = trainers

    def __call__(self, index: int, *args: Any) -> None:
        _numa.bind(index, self._trainers)
        self._function(index, *args)


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
    bind_numa: bool = False,
) -> Any:
    """Start `fn(i, *args)` in `nprocs` processes, as `torch.multiprocessing.spawn` does.

    Args:
        fn: The trainer; its first argument is its number on this node.
        args: Its further arguments.
        nprocs: Number of processes, usually `torch.cuda.device_count()`.
        join: Whether to wait for all of them.
        daemon: Whether they end with this process.
        start_method: Only `spawn` where CUDA is used.
        bind_numa: Run each on the processors of one NUMA node, in the order of GPUs; where that cannot be found out
            they run anywhere.

    Raises:
        ValueError: `nprocs` is less than 1. PyTorch would start no process and return without an error.
    """
    if nprocs < 1:
        raise ValueError(
            f"nprocs is {nprocs}: there is nobody to train. torch.cuda.device_count() is 0 where no GPU is visible "
            "(CUDA_VISIBLE_DEVICES, a build of torch for CPU); to try the code without a GPU, give a number"
        )
    function = _Bound(fn, nprocs) if bind_numa else fn
    return _torch.start_processes(function, args, nprocs, join, daemon, start_method)


def __getattr__(name: str) -> Any:
    return getattr(_torch, name)


def __dir__() -> list[str]:
    return sorted({*dir(_torch), "spawn"})
