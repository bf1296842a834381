"""Logs: what the service needs of those that the store keeps, and of those in folders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from hai_scheduler.core.model.ids import RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class LogChunk:
    """A piece of a rank's log, whole lines only unless one line is longer than the limit.

    Offsets are bytes since the first line; they stay valid when old parts are rotated away: then
    `start` is greater than the offset asked for.
    """

    start: int
    next: int
    data: bytes
    #: Nothing will ever be added.
    final: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPlace:
    """Where another process of this machine can read the logs of a run by itself."""

    #: The run's folder, which holds one for each rank; None: the store keeps them (`KeptLogs`).
    folder: str | None = None
    #: Where the parts of a rank's log are, below the rank's folder.
    below: str = ""
    #: The folders are the platform's own: rights on them that a job has taken away may be given back.
    own: bool = False


class LogSource(Protocol):
    """Where a cluster whose nodes are not this machine finds the logs of its ranks."""

    def place(self, run_id: RunId) -> LogPlace:
        """Where the logs of the run are, if there are any."""
        ...

    async def read(self, run_id: RunId, rank: int, *, offset: int, limit: int, ended: bool) -> LogChunk:
        """At most about `limit` bytes from `offset`; an offset behind the end is the end.

        Raises NotFound if nothing was ever kept of that rank.

        `ended`: the cluster is sure that the rank is gone, so that the end of what is there is final.
        """
        ...

    async def forget(self, run_id: RunId) -> None:
        """Remove the logs of the run, if there are any."""
        ...


class KeptLogs(LogSource, Protocol):
    """Logs that ranks have sent, the newest part of each.

    Every call is a transaction of its own: logs come often and concern nobody else, so that neither waits for the
    writers of a store's other facts longer than the database makes it.
    """

    async def append(self, run_id: RunId, rank: int, *, offset: int, data: bytes, keep: int, skip: bool = False) -> int:
        """Add a piece to the end of a rank's log, and drop the oldest ones beyond about `keep` bytes.

        Args:
            run_id: The run.
            rank: The rank.
            offset: Where the piece begins: bytes since the first line.
            data: The piece, whole lines; not empty.
            keep: How much of the log is kept, in bytes.
            skip: Whether what is missing before the piece is lost for good.

        Returns:
            Where the log goes on.

        Raises:
            Misplaced: The log does not end at `offset`, or, with `skip`, ends behind it.
        """
        ...
