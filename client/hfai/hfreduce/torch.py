"""`hfreduce.torch.set_log_level(...)`, which scripts call."""

from __future__ import annotations


def set_log_level(*_: object, **__: object) -> None:
    """Nothing: there is no hfreduce. The log of NCCL is set by `NCCL_DEBUG`."""
