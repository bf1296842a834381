"""PyTorch's FullyShardedDataParallel, used as the original's was.

In the original, `with model.summon_full_params():` is a method of the model. In its block one rank alone can read the
whole state of the model and of its optimizer, and each rank can load it:

    with model.summon_full_params():
        if rank == 0:
            torch.save({"model": model.module.state_dict(), "optimizer": optimizer.state_dict()}, path)

PyTorch's own `state_dict` would wait for the other ranks there. Its optimizer would return the shard of rank 0 only,
which every rank would then load as its own, without an error.
"""

from __future__ import annotations

import contextlib
import functools
from typing import Any, Callable, Iterator

from torch.distributed.fsdp import BackwardPrefetch as BackwardPrefetch
from torch.distributed.fsdp import FullyShardedDataParallel as _TorchFSDP

from haiscale._shards import OptimizerShards
from haiscale._whole import whole_state


class _Summon:
    """`summon_full_params` as a method of a model and, as in PyTorch, as a function of the class."""

    def __get__(self, model: Any, _owner: Any) -> Callable[..., Any]:
        function: Callable[..., Any] = _TorchFSDP.summon_full_params
        return function if model is None else functools.partial(_summon, model)


class FullyShardedDataParallel(_TorchFSDP):
    """Training with parameters, gradients and optimizer state sharded over the ranks. Options are PyTorch's."""

    summon_full_params = _Summon()


@contextlib.contextmanager
def _summon(model: Any, **options: Any) -> Iterator[None]:
    """Give each rank the whole state to read and load while the block lasts. Every rank must enter the block."""
    shards = OptimizerShards(model)
    shards.gather()
    with _TorchFSDP.summon_full_params(model, **options), whole_state(model), shards.shown():
        yield
