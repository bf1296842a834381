"""The ports to the logs of ranks: those that the store keeps, and those in folders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from hai_scheduler.core.model.ids import RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class LogChunk:
    """A piece of a rank's log: whole lines, unless one line is longer than the limit.

    Offsets are bytes since the first line; they stay valid when old parts are rotated away: then
    `start` is greater than the offset asked for.
    """

    start: int
    next: int
    data: bytes
    #: True if the log ends here and nothing will be added.
    final: bool
    #: Where the log ended when the chunk was read; 0: not known.
    end: int = 0


def whole_lines(data: bytes, limit: int) -> bytes:
    """Return the whole lines at the beginning of `data`; of a line that is longer than the limit, a piece."""
    end = data.rfind(b"\n") + 1
    if end == 0 and len(data) >= limit:
        return data
    return data[:end]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPlace:
    """The place where another process of this machine can read the logs of a run by itself."""

    #: The run's folder, with a subfolder for each rank; None: the store keeps the logs (`LogStore`).
    folder: str | None = None
    #: The folder of the parts of a rank's log, relative to the rank's folder.
    below: str = ""
    #: True if the platform owns the folders: it may restore file permissions that a job has removed.
    own: bool = False


class LogSource(Protocol):
    """The logs of ranks on a cluster whose nodes are other machines."""

    def place(self, run_id: RunId) -> LogPlace:
        """The place of the run's logs, if there are any."""
        ...

    async def read(self, run_id: RunId, rank: int, *, offset: int, limit: int, ended: bool) -> LogChunk:
        """About `limit` bytes of a rank's log at most; an offset behind the end counts as the end.

        Args:
            run_id: The run.
            rank: The rank.
            offset: Where to begin: bytes since the first line.
            limit: Bytes to read.
            ended: Whether the cluster is sure that the rank has ended, so that the end of its log is final.

        Raises:
            NotFound: Nothing of that rank's log was ever kept.
        """
        ...

    async def forget(self, run_id: RunId) -> None:
        """Remove the logs of the run, if there are any."""
        ...


class LogStore(LogSource, Protocol):
    """The logs that ranks have sent; of each log the newest part is kept.

    Every call is a transaction of its own: logs arrive often and do not affect other facts of the store, so that
    neither waits for the other longer than the database requires.
    """

    async def append(self, run_id: RunId, rank: int, *, offset: int, data: bytes, keep: int, skip: bool = False) -> int:
        """Add a piece to the end of a rank's log, and drop its oldest pieces beyond about `keep` bytes.

        Args:
            run_id: The run.
            rank: The rank.
            offset: Where the piece begins: bytes since the first line.
            data: The piece, whole lines; not empty.
            keep: How much of the log is kept, in bytes.
            skip: Whether the bytes missing before the piece are lost and will not be sent.

        Returns:
            The offset at which the next piece begins, in bytes.

        Raises:
            Misplaced: The log does not end at `offset`; with `skip`, only if the log ends behind `offset`.
        """
        ...
