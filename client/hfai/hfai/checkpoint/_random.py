"""The states of the random number generators of all ranks: kept in a checkpoint, and restored before the next step."""

from __future__ import annotations

from typing import Any, Dict

import torch
import torch.distributed as dist

State = Dict[str, torch.Tensor]


def of_this_rank() -> State:
    """Return the states of the CPU's generator and of the generator of this process's GPU."""
    state = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def of_all_ranks() -> list[State]:
    """Return the states of all ranks, in order. Every rank must call this."""
    own = of_this_rank()
    if not (dist.is_available() and dist.is_initialized()):
        return [own]
    found: list[State | None] = [None] * dist.get_world_size()
    dist.all_gather_object(found, own)
    return [state for state in found if state is not None]


def restore_at_first_step(model: Any, states: list[State] | None) -> None:
    """Restore the states when the model is first used for training: code before it, such as loaders, draws numbers too.

    If the number of ranks has changed, no state is restored.
    """
    ranks = dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1
    if states is None or len(states) != ranks:
        return
    restorer = _Restorer(states[dist.get_rank() if ranks > 1 else 0])
    restorer.handle = model.register_forward_pre_hook(restorer)


class _Restorer:
    """Sets the generators once, for the model and all copies of it."""

    def __init__(self, state: State) -> None:
        self._state: State | None = state
        self.handle: Any = None

    def __call__(self, module: Any, *_: Any) -> None:
        if self._state is None or not module.training:
            return
        state, self._state = self._state, None
        self.handle.remove()
        torch.set_rng_state(state["cpu"])
        if "cuda" in state and torch.cuda.is_available():
            torch.cuda.set_rng_state(state["cuda"])

    def __deepcopy__(self, _memo: Any) -> _Restorer:
        return self
