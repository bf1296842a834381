"""Arithmetic of intervals: how much of one set of intervals lies in another."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable


class Intervals:
    """Intervals that do not overlap, in order; times are seconds."""

    def __init__(self, intervals: Iterable[tuple[float, float]]) -> None:
        self._begins: list[float] = []
        self._ends: list[float] = []
        #: The length of all intervals before each one.
        self._before: list[float] = []
        total = 0.0
        for begin, end in intervals:
            if end > begin:
                self._begins.append(begin)
                self._ends.append(end)
                self._before.append(total)
                total += end - begin
        #: The length of all intervals.
        self.total = total

    def until(self, time: float) -> float:
        """Return how many seconds of the intervals lie before a time."""
        place = bisect_right(self._begins, time) - 1
        if place < 0:
            return 0.0
        return self._before[place] + min(time, self._ends[place]) - self._begins[place]

    def within(self, begin: float, end: float) -> float:
        """Return how many seconds of the intervals lie between two times."""
        return max(0.0, self.until(end) - self.until(begin)) if end > begin else 0.0
