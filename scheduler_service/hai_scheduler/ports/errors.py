"""The exceptions that ports raise."""

from __future__ import annotations


class Absent(LookupError):
    """The object that was asked for does not exist."""


class WriteConflict(Exception):
    """Another process changed the object in the meantime; nothing was written."""


class LeaseLost(WriteConflict):
    """Another scheduler holds the leader lease; nothing was written."""


class OffsetMismatch(WriteConflict):
    """A piece of a log does not follow the stored part, which ends at byte `expected`; nothing was written."""

    def __init__(self, expected: int) -> None:
        super().__init__(f"the log goes on at {expected}")
        self.expected = expected


class Temporary(Exception):
    """The cluster or the database cannot do what was asked now; the loop tries again at its next tick."""
