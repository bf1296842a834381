"""Turns counters that only grow into rates."""

from __future__ import annotations


class Rates:
    """The growth of counters by second, between one sample and the next.

    A counter that has fallen was reset, by a device or because a process with its share of it has gone: that sample
    has no rate for it, and the next one is counted from the new value.
    """

    def __init__(self) -> None:
        self._at = 0.0
        self._before: dict[str, float] = {}

    def of(self, counters: dict[str, float], now: float) -> dict[str, float]:
        """Return the rates of counters, by the names of the counters.

        Args:
            counters: The counters now.
            now: The time of the sample on a clock that never steps, seconds.
        """
        passed = now - self._at
        before, self._before, self._at = self._before, counters, now
        if passed <= 0:
            return {}
        return {
            name: (value - before[name]) / passed
            for name, value in counters.items()
            if name in before and value >= before[name]
        }
