"""The identity of the database, and how far it has come, in a transaction of the store (decision 0016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from hai_scheduler.core.model.marks import LostPast, Mark


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseFacts:
    """What admins want to know of a database."""

    #: `sqlite`, `postgresql` or `memory`.
    kind: str
    #: Its size in bytes; None: not known.
    size: int | None
    #: The revision of its tables; None: it has none.
    revision: str | None


class DatabaseRecord(Protocol):
    """What tells the database from another one, and from an earlier state of itself: its counts never go back."""

    async def facts(self) -> DatabaseFacts:
        """What kind of database it is, and how large."""
        ...

    async def mark(self) -> Mark:
        """The mark of this database: its identity, and how many starts and ends of runs it has recorded."""
        ...

    async def lost_past(self) -> LostPast:
        """The ids that must not be used again."""
        ...

    async def count_steps(self, count: int, *, number: int) -> None:
        """Count `count` more starts and ends of runs; `number` is the greatest run number among the started ones."""
        ...

    async def begin_epoch(self, epoch: int, *, steps: int, after_task: int, past: LostPast) -> None:
        """Begin a new epoch: the database was restored, or is new on its cluster.

        Args:
            epoch: The new epoch.
            steps: The least number of starts and ends of runs that there have been.
            after_task: New task ids are greater than this one.
            past: The ids that must not be used again.
        """
        ...
