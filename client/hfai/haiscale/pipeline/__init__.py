"""Pipeline parallel training, called as in the original's `haiscale.pipeline`, over `torch.distributed.pipelining`.

    model = partition(sequential, rank, world_size, balance=[4, 4])
    model = PipeDream(model.cuda(), chunks)
    loss, _ = model.forward_backward(tokens, criterion=criterion, labels=(tokens,))

It needs PyTorch 2.9 or newer, and says so where there is an older one.
"""

from __future__ import annotations

from haiscale.pipeline._models import SequentialModel, make_subgroups, partition
from haiscale.pipeline._schedules import GPipe, Interleaved1F1B, PipeDream

__all__ = ["GPipe", "Interleaved1F1B", "PipeDream", "SequentialModel", "make_subgroups", "partition"]
