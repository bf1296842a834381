"""What a port raises."""

from __future__ import annotations


class NotFound(LookupError):
    """There is no such thing."""


class Conflict(Exception):
    """Somebody else changed it meanwhile; nothing was written."""


class LeaseLost(Conflict):
    """Another scheduler holds the leader lease; nothing was written."""


class Misplaced(Conflict):
    """A piece of a log that does not follow what is kept of it; nothing was written. `expected` is where it ends."""

    def __init__(self, expected: int) -> None:
        super().__init__(f"the log goes on at {expected}")
        self.expected = expected


class Temporary(Exception):
    """The cluster or the database cannot do it now; the loop tries again at its next tick."""
