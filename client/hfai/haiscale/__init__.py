"""The original's interface for training on many GPUs, over PyTorch's: `ddp`, `fsdp`, `pipeline`."""

from __future__ import annotations

import importlib
from typing import Any

_MODULES = frozenset({"ddp", "fsdp", "pipeline"})


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module("haiscale." + name)
    raise AttributeError(f"module 'haiscale' has no attribute {name!r}; it has {', '.join(sorted(_MODULES))}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
