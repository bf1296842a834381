"""The state of an optimizer with sharded parameters: rank 0 saves the states of all ranks, each rank loads its own."""

from __future__ import annotations

import contextlib
import gc
import weakref
from typing import Any, Iterator

import torch
import torch.distributed as dist

#: The key of the states of all ranks in a saved optimizer.
KEY = "hai_shards"

_listening: weakref.WeakSet[Any] = weakref.WeakSet()


class OptimizerShards:
    """The optimizers of one sharded model."""

    def __init__(self, model: Any) -> None:
        self._group = model.process_group
        self._optimizers = _optimizers_of(model)
        self._gathered: list[list[Any] | None] = []
        for optimizer in self._optimizers:
            if optimizer not in _listening:
                _listening.add(optimizer)
                optimizer.register_load_state_dict_pre_hook(_Chooser(self._group))

    def gather(self) -> None:
        """Gather the states of all ranks on the first rank. Every rank must call this."""
        first = dist.get_global_rank(self._group, 0)
        for optimizer in self._optimizers:
            found: list[Any] | None = None
            if dist.get_rank() == first:
                found = [None] * dist.get_world_size(self._group)
            dist.gather_object(_to_cpu(optimizer.state_dict()["state"]), found, dst=first, group=self._group)
            self._gathered.append(found)

    @contextlib.contextmanager
    def shown(self) -> Iterator[None]:
        """Let `optimizer.state_dict()` on the first rank include the states of all ranks, while the block lasts."""
        handles = [
            optimizer.register_state_dict_post_hook(_Shower(found))
            for optimizer, found in zip(self._optimizers, self._gathered)
            if found is not None
        ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()


class _Shower:
    def __init__(self, states: list[Any]) -> None:
        self._states = states

    def __call__(self, _optimizer: Any, state: dict[str, Any]) -> dict[str, Any]:
        return {**state, KEY: self._states}


class _Chooser:
    def __init__(self, group: Any) -> None:
        self._group = group

    def __call__(self, _optimizer: Any, state: dict[str, Any]) -> dict[str, Any] | None:
        if KEY not in state:
            return None
        shards, ranks = state[KEY], dist.get_world_size(self._group)
        if len(shards) != ranks:
            raise RuntimeError(
                f"the optimizer was saved by {len(shards)} ranks and is loaded by {ranks}: its shards do not fit; "
                f"train on with {len(shards)}, or begin with a new optimizer"
            )
        rest = {name: value for name, value in state.items() if name != KEY}
        return {**rest, "state": shards[dist.get_rank(self._group)]}


def _optimizers_of(model: Any) -> list[Any]:
    """Return the optimizers of a model's parameters, in the order of the parameters, the same on every rank.

    A model does not know its optimizers: this searches all Python objects, which takes a fraction of a second.
    """
    places = {id(parameter): place for place, parameter in enumerate(model.parameters())}
    found = {}
    for thing in gc.get_objects():
        if issubclass(type(thing), torch.optim.Optimizer) and thing.param_groups:
            own = [places[id(p)] for group in thing.param_groups for p in group["params"] if id(p) in places]
            if own:
                found[min(own)] = thing
    return [found[place] for place in sorted(found)]


def _to_cpu(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().cpu()
    if isinstance(value, dict):
        return {key: _to_cpu(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_to_cpu(item) for item in value)
    return value
