"""PyTorch's DistributedDataParallel, with what the original's had besides."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel as _TorchDDP


class DistributedDataParallel(_TorchDDP):
    """Data parallel training. `ddp.reducer.stop()` is there: the original's reducer had a thread of its own to end.

    A model that lies on the CPU is accepted with `device_ids` too, so that a script can be tried without a GPU.
    """

    def __init__(self, module: torch.nn.Module, device_ids: Any = None, output_device: Any = None, **options: Any):
        if all(parameter.device.type == "cpu" for parameter in module.parameters()):
            device_ids = output_device = None
        super().__init__(module, device_ids=device_ids, output_device=output_device, **options)
        _let_it_be_stopped(type(self.reducer))


def _let_it_be_stopped(reducer: Any) -> None:
    """Give the class of reducers the method `stop`, which has nothing to do.

    The object itself takes no attributes, and PyTorch hands it to C++, so nothing can stand in for it.
    """
    if not hasattr(reducer, "stop"):
        reducer.stop = lambda _self: None
