"""What is going to happen, in the order of its time."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from datetime import datetime
from typing import Any


class Agenda:
    """Things that happen at times; ties happen in the order in which they were put down."""

    def __init__(self, now: datetime) -> None:
        #: The virtual time: while something happens, its own.
        self.now = now
        self._order = 0
        self._due: list[tuple[datetime, int, Callable[..., None], tuple[Any, ...]]] = []

    def __len__(self) -> int:
        return len(self._due)

    def add(self, at: datetime, happen: Callable[..., None], *facts: Any) -> None:
        """Let `happen(*facts)` be called at that time; a time in the past is now."""
        self._order += 1
        heapq.heappush(self._due, (max(at, self.now), self._order, happen, facts))

    @property
    def next(self) -> datetime | None:
        """When the next thing happens; None is never."""
        return self._due[0][0] if self._due else None

    def play(self, until: datetime) -> None:
        """Let everything happen that is due by then, also what follows from it, and be there."""
        due = self._due
        while due and due[0][0] <= until:
            self.now, _, happen, facts = heapq.heappop(due)
            happen(*facts)
        self.now = until
