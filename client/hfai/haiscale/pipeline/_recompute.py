"""Computing activations again in the backward pass instead of keeping them."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

CHOICES = ("always", "except_last", "never")


class Recompute(torch.nn.Module):
    """A module whose activations are not kept: those of all chunks of a batch, or of all but the last.

    The backward pass of the last chunk follows its forward pass at once, so nothing is gained there.
    """

    def __init__(self, module: torch.nn.Module, chunks: int, *, except_last: bool) -> None:
        super().__init__()
        self._inner = module
        self._chunks = chunks
        self._except_last = except_last
        self._chunk = 0

    def forward(self, *inputs: Any) -> Any:
        """Run the module on one chunk."""
        if not torch.is_grad_enabled():
            return self._inner(*inputs)
        self._chunk = self._chunk % self._chunks + 1
        if self._except_last and self._chunk == self._chunks:
            return self._inner(*inputs)
        return checkpoint(self._inner, *inputs, use_reentrant=False)
