"""The logs that ranks have sent, in memory."""

from __future__ import annotations

from hai_scheduler.core.model.ids import RunId
from hai_scheduler.ports.errors import Absent, OffsetMismatch
from hai_scheduler.ports.logs import LogChunk, LogPlace
from hai_scheduler.store.log_store import join


class MemoryLogs:
    """See `hai_scheduler.ports.logs.LogStore`."""

    def __init__(self) -> None:
        #: By run and rank: the offset of each piece, and the piece.
        self._pieces: dict[tuple[RunId, int], list[tuple[int, bytes]]] = {}

    def place(self, _run_id: RunId) -> LogPlace:
        """See `LogSource.place`."""
        return LogPlace()

    async def append(self, run_id: RunId, rank: int, *, offset: int, data: bytes, keep: int, skip: bool = False) -> int:
        """See `LogStore.append`."""
        pieces = self._pieces.get((run_id, rank), [])
        end = _end(pieces)
        if offset != end and not (skip and offset > end):
            raise OffsetMismatch(end)
        grown = [*pieces, (offset, data)]
        end = _end(grown)
        self._pieces[run_id, rank] = [(start, piece) for start, piece in grown if start + len(piece) > end - keep]
        return end

    async def read(self, run_id: RunId, rank: int, *, offset: int, limit: int, ended: bool) -> LogChunk:
        """See `LogSource.read`."""
        pieces = self._pieces.get((run_id, rank))
        if pieces is None:
            raise Absent(f"no log of rank {rank} of run {run_id} is kept")
        return join(pieces, offset=offset, limit=limit, end=_end(pieces), ended=ended)

    async def forget(self, run_id: RunId) -> None:
        """See `LogSource.forget`."""
        self._pieces = {key: pieces for key, pieces in self._pieces.items() if key[0] != run_id}


def _end(pieces: list[tuple[int, bytes]]) -> int:
    return pieces[-1][0] + len(pieces[-1][1]) if pieces else 0
