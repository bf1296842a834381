"""`torch.nn.parallel` under the original's name, with the DistributedDataParallel of haiscale."""

from __future__ import annotations

from typing import Any

import torch.nn.parallel as _torch

from haiscale.ddp import DistributedDataParallel as DistributedDataParallel


def __getattr__(name: str) -> Any:
    return getattr(_torch, name)


def __dir__() -> list[str]:
    return sorted({*dir(_torch), "DistributedDataParallel"})
