"""`torch.distributed` under the original's name, and the level of its own NCCL, which has no meaning elsewhere."""

from __future__ import annotations

import enum
from typing import Any

import torch.distributed as _torch


class HFAI_NCCL_OPT_LEVEL(enum.IntEnum):
    """How far the original's NCCL was to be tuned. AUTO is the only one that code in public uses."""

    AUTO = 0


def set_nccl_opt_level(level: int) -> None:
    """Do nothing: the level tuned the original's own build of NCCL. Set NCCL's own variables with `-e` instead."""
    HFAI_NCCL_OPT_LEVEL(level)


_OWN = frozenset({"HFAI_NCCL_OPT_LEVEL", "set_nccl_opt_level"})


def __getattr__(name: str) -> Any:
    # Looked up each time: groups and the like change while a program runs.
    if name == "__all__":
        return sorted({word for word in dir(_torch) if not word.startswith("_")} | _OWN)
    return getattr(_torch, name)


def __dir__() -> list[str]:
    return sorted({*dir(_torch), *_OWN})
