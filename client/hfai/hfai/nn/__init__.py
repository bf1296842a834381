"""`torch.nn` under the original's name. Its operators were faster ones of its own; here they are PyTorch's."""

from __future__ import annotations

import importlib
from typing import Any, TypeVar

import torch.nn as _torch

Model = TypeVar("Model")
#: torch.nn has modules of these names too, and less in them.
_MODULES = frozenset({"functional", "parallel"})


def to_hfai(model: Model, *_: Any, **__: Any) -> Model:
    """Return the model unchanged: HAI has no operators to replace PyTorch's."""
    return model


def __getattr__(name: str) -> Any:
    return importlib.import_module("hfai.nn." + name) if name in _MODULES else getattr(_torch, name)


def __dir__() -> list[str]:
    return sorted({*dir(_torch), *_MODULES, "to_hfai"})
