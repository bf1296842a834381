"""PyTorch's DistributedDataParallel, with the additions of the original's."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel as _TorchDDP


class DistributedDataParallel(_TorchDDP):
    """Data parallel training. `ddp.reducer.stop()` does nothing; the original's reducer had a thread to stop.

    A model on the CPU is accepted with `device_ids` too, so that a script can be tried without a GPU.
    """

    def __init__(self, module: torch.nn.Module, device_ids: Any = None, output_device: Any = None, **options: Any):
        if all(parameter.device.type == "cpu" for parameter in module.parameters()):
            device_ids = output_device = None
        super().__init__(module, device_ids=device_ids, output_device=output_device, **options)
        _let_it_be_stopped(type(self.reducer))


def _let_it_be_stopped(reducer: Any) -> None:
    """Give the class of reducers a method `stop` that does nothing.

    The reducer itself takes no attributes, and PyTorch passes it to C++, so it cannot be replaced by another object.
    """
    if not hasattr(reducer, "stop"):
        reducer.stop = lambda _self: None
