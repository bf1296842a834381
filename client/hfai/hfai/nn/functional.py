"""`torch.nn.functional` under the original's name."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as _torch


def set_replace_torch(*_: Any, **__: Any) -> None:
    """Do nothing. In the original this replaced PyTorch's operators by its own."""


def __getattr__(name: str) -> Any:
    return getattr(_torch, name)


def __dir__() -> list[str]:
    return sorted({*dir(_torch), "set_replace_torch"})
