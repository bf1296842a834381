"""Threads that read."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Callable, Iterable

#: The most by default: more are of use only where storage is far away.
USUAL = 4


class Crew:
    """Threads that share work with their caller: started when they are first of use, and again in a forked process.

    Args:
        size: how many take part, the caller included; by default one a processor, and at most 4.

    Raises:
        ValueError: if fewer than one is asked for.
    """

    def __init__(self, size: int | None) -> None:
        if size is not None and size < 1:
            raise ValueError(f"threads is {size}: at least 1, or None for one a processor")
        self.size = size or min(USUAL, _processors())
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0

    def do(self, work: Iterable[Callable[[], None]]) -> None:
        """Do all pieces of work; return, or raise the first error, when all threads have stopped.

        Each thread takes the next piece when it has done one, so that a thread without a processor delays the others
        by one piece at most.
        """
        left = deque(work)
        helpers = min(self.size, len(left)) - 1
        others = [self._threads().submit(_take_turns, left) for _ in range(helpers)]
        try:
            _take_turns(left)
        finally:
            # Threads that have not begun are not needed. Wait for the others: they may still write to the memory.
            failed = [error for error in (other.exception() for other in others if not other.cancel()) if error]
        if failed:
            raise failed[0]

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None and self._process == os.getpid():
            self._pool.shutdown(wait=False)
        self._pool = None

    def _threads(self) -> ThreadPoolExecutor:
        # Those of a parent do not run in the child that it forked.
        if self._pool is None or self._process != os.getpid():
            self._pool = ThreadPoolExecutor(max(1, self.size - 1), thread_name_prefix="ffrecord")
            self._process = os.getpid()
        return self._pool


def _take_turns(left: deque[Callable[[], None]]) -> None:
    while True:
        try:
            piece = left.popleft()
        except IndexError:
            return
        try:
            piece()
        except BaseException:
            left.clear()
            raise


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
