"""Ids of tasks and runs, and the origin of a run: the database that decided it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NewType

TaskId = NewType("TaskId", int)
#: `"<task id>.<run number>"`, for example `"41.2"`. Every order to a cluster is idempotent by this id.
RunId = NewType("RunId", str)


@dataclass(frozen=True, slots=True)
class Origin:
    """The database that decided a run, and the epoch of the database at that time.

    A database gets its name when it is made. It begins a new epoch when it finds that it is older than the runs on
    the cluster, because it was restored. So a run's id and origin together are never given twice.
    """

    #: Lower-case letters and digits.
    database: str
    #: From 1.
    epoch: int

    def __str__(self) -> str:
        return f"{self.database}-{self.epoch}"

    @classmethod
    def parse(cls, text: str | None) -> Origin | None:
        """Read an origin as `str` writes it; None for any other text."""
        database, dash, epoch = (text or "").partition("-")
        known = database.isascii() and database.isalnum() and dash and epoch.isascii() and epoch.isdigit()
        return cls(database, int(epoch)) if known and len(epoch) <= 18 else None
