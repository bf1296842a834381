"""The clock: what time it is, and waiting."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """The present time, and waiting."""

    def now(self) -> datetime:
        """The current time, timezone-aware in UTC. Never goes back within a process."""
        ...

    def steady(self) -> float:
        """Seconds of a monotonic clock: it cannot be set, and it runs on while the process is stopped."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for that many seconds."""
        ...
