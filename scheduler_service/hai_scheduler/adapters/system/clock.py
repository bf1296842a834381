"""The machine's time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class SystemClock:
    """The machine's time, in microseconds.

    When the machine's clock is set back, this one goes on at half speed until the machine has caught up: it never
    goes back, it never stands still (leases still expire), and it ends at the right time.
    """

    def __init__(self, wall: Callable[[], int] = time.time_ns, steady: Callable[[], int] = time.monotonic_ns) -> None:
        self._wall = wall
        self._steady = steady
        self._last = wall()
        self._last_steady = steady()

    def now(self) -> datetime:
        """Aware UTC. Never goes back within a process."""
        steady = self._steady()
        at_least = self._last + (steady - self._last_steady) // 2
        self._last, self._last_steady = max(self._wall(), at_least), steady
        return _EPOCH + timedelta(microseconds=self._last // 1000)

    def steady(self) -> float:
        """Seconds since some moment, as they pass."""
        return self._steady() / 1e9

    async def sleep(self, seconds: float) -> None:
        """Wait that many seconds of real time."""
        await asyncio.sleep(seconds)
