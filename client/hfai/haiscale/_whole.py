"""Reads and loads the whole state of a sharded model on one rank alone, while its parameters are gathered."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from typing import Any, Iterator, Mapping

import torch

#: Prefixes that wrappers of modules add to the names of parameters.
_WRAPPERS = ("_fsdp_wrapped_module.", "_checkpoint_wrapped_module.")
_FLAT = "_flat_param"


@contextlib.contextmanager
def whole_state(model: Any) -> Iterator[None]:
    """Let `state_dict` and `load_state_dict` of a model, and of its module, use whole parameters in the block."""
    modules = [model, model.module]
    for module in modules:
        module.__dict__["state_dict"] = _Reader(module)
        module.__dict__["load_state_dict"] = _Loader(module)
    try:
        yield
    finally:
        for module in modules:
            del module.__dict__["state_dict"], module.__dict__["load_state_dict"]


class _Reader:
    def __init__(self, module: torch.nn.Module) -> None:
        self._module = module

    def __call__(self, *_: Any, prefix: str = "", keep_vars: bool = False, **__: Any) -> dict[str, torch.Tensor]:
        # Copies: after the block the parameters are shards again.
        return OrderedDict(
            (prefix + name, tensor if keep_vars else tensor.detach().clone()) for name, tensor in _tensors(self._module)
        )


class _Loader:
    def __init__(self, module: torch.nn.Module) -> None:
        self._module = module

    def __call__(self, state: Mapping[str, torch.Tensor], strict: bool = True, **_: Any) -> tuple[list[str], list[str]]:
        """Load the state; return the missing and the unknown names. Raises RuntimeError."""
        own = dict(_tensors(self._module))
        missing, unknown = sorted(own.keys() - state.keys()), sorted(state.keys() - own.keys())
        if strict and (missing or unknown):
            raise RuntimeError(f"the state is of another model: missing {missing[:5]}, unknown {unknown[:5]}")
        with torch.no_grad():
            for name, tensor in own.items():
                if name in state:
                    _copy(name, tensor, state[name])
        return missing, unknown


def _copy(name: str, tensor: torch.Tensor, value: torch.Tensor) -> None:
    if tensor.shape != value.shape:
        raise RuntimeError(
            f"{name} has the shape {tuple(value.shape)} in the state, {tuple(tensor.shape)} in the model"
        )
    tensor.copy_(value)


def _tensors(module: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield parameters and persistent buffers, with their names in the module before it was wrapped."""
    for name, parameter in module.named_parameters(remove_duplicate=False):
        if _FLAT not in name:
            yield _clean(name), parameter
    for prefix, part in module.named_modules():
        for name, buffer in part.named_buffers(recurse=False):
            if name not in part._non_persistent_buffers_set:
                yield _clean(f"{prefix}.{name}" if prefix else name), buffer


def _clean(name: str) -> str:
    for wrapper in _WRAPPERS:
        name = name.replace(wrapper, "")
    return name
