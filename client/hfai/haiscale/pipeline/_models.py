"""Divides a sequence of layers into stages, and the ranks into pipelines."""

from __future__ import annotations

from typing import Any, Sequence

import torch
import torch.distributed as dist


class SequentialModel(torch.nn.Sequential):
    """Layers one after the other. A tuple that a layer returns becomes the arguments of the next layer."""

    def forward(self, *inputs: Any) -> Any:
        """Run all layers."""
        for layer in self:
            found = layer(*inputs)
            inputs = found if isinstance(found, tuple) else (found,)
        return inputs if len(inputs) > 1 else inputs[0]


def partition(
    model: torch.nn.Sequential,
    rank: int,
    num_stages: int,
    balance: Sequence[int] | None = None,
    num_model_chunks: int = 1,
) -> SequentialModel | list[SequentialModel]:
    """Return the layers of one rank of a pipeline.

    Args:
        model: All layers, as a `Sequential`.
        rank: Number of the rank in the pipeline, from 0.
        num_stages: Number of ranks in the pipeline.
        balance: Number of layers of each rank (default: as even as possible, with the larger numbers first).
        num_model_chunks: How many pieces each rank has, for `Interleaved1F1B`: rank r of R has the pieces r, r + R, ...

    Returns:
        The layers; for more than one chunk a list of models, one per chunk.

    Raises:
        TypeError: The model is no `Sequential`.
        ValueError: The numbers do not fit each other.
    """
    if not isinstance(model, torch.nn.Sequential):
        raise TypeError(f"model is a {type(model).__name__}; it must be a torch.nn.Sequential or a SequentialModel")
    if not 0 <= rank < num_stages:
        raise ValueError(
            f"rank is {rank}; it must be from 0 to {num_stages - 1}, as the pipeline has {num_stages} ranks"
        )
    if num_model_chunks < 1:
        raise ValueError(f"num_model_chunks is {num_model_chunks}; it must be at least 1")
    pieces = num_stages * num_model_chunks
    counts = _even(len(model), pieces) if balance is None else list(balance)
    if len(counts) != pieces or sum(counts) != len(model) or min(counts) < 1:
        raise ValueError(
            f"balance is {counts}; it must be {pieces} numbers of 1 or more that make {len(model)} layers together"
        )
    layers = list(model)
    begins = [sum(counts[:place]) for place in range(pieces)]
    own = [
        SequentialModel(*layers[begins[place] : begins[place] + counts[place]])
        for place in range(rank, pieces, num_stages)
    ]
    return own if num_model_chunks > 1 else own[0]


def _even(layers: int, pieces: int) -> list[int]:
    least, more = divmod(layers, pieces)
    return [least + (place < more) for place in range(pieces)]


def make_subgroups(pp_size: int) -> tuple[Any, Any]:
    """Make groups for combined data and pipeline parallel training; consecutive ranks are one pipeline.

    Every rank must call this. With 2 nodes of 8 GPUs and `pp_size=8` each node is a pipeline, and the same stages of
    both nodes average their gradients.

    Args:
        pp_size: Number of ranks in a pipeline.

    Returns:
        This rank's data parallel group, and its pipeline group.

    Raises:
        ValueError: `pp_size` does not divide the number of ranks.
    """
    rank, world = dist.get_rank(), dist.get_world_size()
    if pp_size < 1 or world % pp_size:
        raise ValueError(f"pp_size is {pp_size}; it must divide the number of ranks, {world}")
    # Every rank makes every group, in the same order: torch.distributed asks for that.
    data = [dist.new_group(list(range(stage, world, pp_size))) for stage in range(pp_size)]
    pipelines = [dist.new_group(list(range(first, first + pp_size))) for first in range(0, world, pp_size)]
    return data[rank % pp_size], pipelines[rank // pp_size]
