"""Reuses the memory of batches that are no longer in use: new memory costs as much time as reading into it."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any
#: Smaller batches get new memory: the allocator has it at hand, and touching it costs nothing.
LEAST = 1 << 20
#: Larger ones give theirs back to the system.
MOST = 256 << 20
#: How many blocks are kept: enough for a caller that still has the last batch while the next one is read.
KEPT = 2


class Spare:
    """Blocks of memory whose batches are no longer in use.

    The kernel clears every page of new memory at its first write. If the last batch is dropped before the next one is
    read, as in training, both use the same memory, and no page has to be cleared.
    """

    def __init__(self) -> None:
        #: Changed by single operations of a list alone: threads may share a reader.
        self._blocks: list[Array] = []
        self._open = True

    def take(self, size: int) -> Array:
        """Return memory of this many bytes, not cleared; it is reused when the last reference to it is gone."""
        if not LEAST <= size <= MOST:
            return np.empty(size, np.uint8)
        block = self._fitting(size)
        if block is None:
            # Some more, because batches of one file are not all of one size. What is not written costs nothing.
            block = np.empty(size + size // 8, np.uint8)
        return np.asarray(_Lease(self, block, size))

    def _fitting(self, size: int) -> Array | None:
        while True:
            try:
                block = self._blocks.pop()
            except IndexError:
                return None
            # A block that is much too large would stay as long as one small batch is kept.
            if size <= len(block) <= 2 * size:
                return block

    def give(self, block: Array) -> None:
        """Keep a block that is no longer in use."""
        if self._open and len(self._blocks) < KEPT:
            self._blocks.append(block)

    def close(self) -> None:
        """Drop all blocks, and keep none from now on."""
        self._open = False
        self._blocks.clear()


class _Lease:
    """The base of all arrays of a batch: when the last of them is gone, the lease gives its block back."""

    __slots__ = ("__array_interface__", "_block", "_home")

    def __init__(self, home: Spare, block: Array, size: int) -> None:
        self._home, self._block = home, block
        self.__array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (block.ctypes.data, False),
            "version": 3,
        }

    def __del__(self) -> None:
        self._home.give(self._block)
