"""PyTorch's FullyShardedDataParallel, used as the original's was.

There `with model.summon_full_params():` was a method of the model, inside of which one rank alone could take the whole
state of the model and of its optimizer, and each rank could load it:

    with model.summon_full_params():
        if rank == 0:
            torch.save({"model": model.module.state_dict(), "optimizer": optimizer.state_dict()}, path)

PyTorch's own `state_dict` would wait for the other ranks there, and its optimizer would give the shard of rank 0 alone,
which every rank would then load as its own without a word.
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
    """Training with parameters, gradients and optimizer state shared out over the ranks. Options are PyTorch's."""

    summon_full_params = _Summon()


@contextlib.contextmanager
def _summon(model: Any, **options: Any) -> Iterator[None]:
    """Every rank must enter; inside, each may read and load the whole state by itself."""
    shards = OptimizerShards(model)
    shards.gather()
    with _TorchFSDP.summon_full_params(model, **options), whole_state(model), shards.shown():
        yield
