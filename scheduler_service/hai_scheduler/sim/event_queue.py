"""A queue of events in virtual time."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from datetime import datetime
from typing import Any


class EventQueue:
    """Events in order of time; events of the same time happen in the order in which they were added."""

    def __init__(self, now: datetime) -> None:
        #: The virtual time; during an event, the time of the event.
        self.now = now
        self._order = 0
        self._due: list[tuple[datetime, int, Callable[..., None], tuple[Any, ...]]] = []

    def __len__(self) -> int:
        return len(self._due)

    def add(self, at: datetime, happen: Callable[..., None], *facts: Any) -> None:
        """Call `happen(*facts)` at that virtual time; a time in the past counts as now."""
        self._order += 1
        heapq.heappush(self._due, (max(at, self.now), self._order, happen, facts))

    @property
    def next(self) -> datetime | None:
        """The time of the next event; None: there is none."""
        return self._due[0][0] if self._due else None

    def play(self, until: datetime) -> None:
        """Play all events that are due by `until`, with those that they add, and set the time to `until`."""
        due = self._due
        while due and due[0][0] <= until:
            self.now, _, happen, facts = heapq.heappop(due)
            happen(*facts)
        self.now = until
