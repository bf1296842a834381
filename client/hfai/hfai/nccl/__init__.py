"""An older name of `hfai.distributed`: `import hfai.nccl.distributed as dist`."""

from __future__ import annotations

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    if name == "distributed":
        return importlib.import_module("hfai.nccl.distributed")
    raise AttributeError(f"module 'hfai.nccl' has no attribute {name!r}; it has distributed")
