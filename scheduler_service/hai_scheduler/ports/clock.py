"""The clock: what time it is, and waiting."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Time."""

    def now(self) -> datetime:
        """Aware UTC. Never goes back within a process."""
        ...

    def steady(self) -> float:
        """Seconds since some moment, as they pass, also while this process is stopped: nobody sets this clock."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...
