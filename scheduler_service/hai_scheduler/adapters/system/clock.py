"""The clock of the machine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class SystemClock:
    """The machine's clock, exact to microseconds.

    When the machine's clock is set back, this clock goes on at half speed until the machine has caught up: it never
    goes back and never stands still, so that leases still expire, and it comes back to the right time.
    """

    def __init__(self, wall: Callable[[], int] = time.time_ns, steady: Callable[[], int] = time.monotonic_ns) -> None:
        self._wall = wall
        self._steady = steady
        self._last = wall()
        self._last_steady = steady()

    def now(self) -> datetime:
        """Return the time in aware UTC, which never goes back within a process."""
        steady = self._steady()
        at_least = self._last + (steady - self._last_steady) // 2
        self._last, self._last_steady = max(self._wall(), at_least), steady
        return _EPOCH + timedelta(microseconds=self._last // 1000)

    def steady(self) -> float:
        """Return the seconds since some fixed moment, by a clock that is never set."""
        return self._steady() / 1e9

    async def sleep(self, seconds: float) -> None:
        """Wait this many seconds of real time."""
        await asyncio.sleep(seconds)
