"""What names a task and a run, and which database has decided a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NewType

TaskId = NewType("TaskId", int)
#: `"<task id>.<run number>"`, for example `"41.2"`. Everything a cluster does is idempotent by it.
RunId = NewType("RunId", str)


@dataclass(frozen=True, slots=True)
class Origin:
    """Which database has decided a run, and in which of its epochs.

    A database gets its name when it is made, and begins a new epoch when it finds that it is older than the runs on
    the cluster: it was restored. So a run's id and origin together are never given twice.
    """

    #: Lower-case letters and digits.
    database: str
    #: From 1.
    epoch: int

    def __str__(self) -> str:
        return f"{self.database}-{self.epoch}"

    @classmethod
    def parse(cls, text: str | None) -> Origin | None:
        """Read what `str` gave; None for anything else."""
        database, dash, epoch = (text or "").partition("-")
        known = database.isascii() and database.isalnum() and dash and epoch.isascii() and epoch.isdigit()
        return cls(database, int(epoch)) if known and len(epoch) <= 18 else None
