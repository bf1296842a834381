"""Counts what code does, instead of timing it: tests of how work grows with what a user sends."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def operations(do: Callable[[], object]) -> int:
    """Return how many instructions of Python `do` executes in this thread; what C does within one counts as one."""
    count = 0

    def trace(frame: FrameType, event: str, _arg: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        do()
    finally:
        sys.settrace(before)
    return count


def assert_grows_evenly(work: Callable[[int], Callable[[], object]], size: int = 200) -> None:
    """Assert that twice as much takes about twice as many instructions, not four times as many.

    Args:
        work: Returns what is done for a size.
        size: The smaller of the two sizes.
    """
    # What is made once is made now; Python 3.12 tells of no instruction before it was asked to.
    operations(work(size))
    once, twice = operations(work(size)), operations(work(2 * size))
    assert twice < 2.5 * once, f"{size}: {once} instructions, {2 * size}: {twice}"
