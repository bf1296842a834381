"""Takes the logs that ranks send, where they share no volume with the service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hai_scheduler.core.model.ids import RunId
from hai_scheduler.service.runs.rank_reports import live_rank
from hai_scheduler.service.shared.errors import Invalid
from hai_scheduler.service.shared.world import UseCase

#: Bytes of each rank's log that are kept; the oldest lines are dropped first.
KEEP_BYTES: Final = 16 * 1024 * 1024


@dataclass(slots=True, eq=False)
class RankLogs(UseCase):
    """The use case of ranks that send their logs."""

    keep_bytes: int = KEEP_BYTES

    async def take(self, run_id: RunId, rank: int, *, offset: int, data: bytes, skip: bool) -> int:
        """Add a piece to the end of a rank's log; returns the offset at which the next piece begins.

        Args:
            run_id: The run.
            rank: The rank.
            offset: Where the piece begins: bytes since the first line.
            data: The piece.
            skip: Whether the bytes missing before the piece are lost and will not be sent.

        Raises:
            Conflict: The run is over.
            Invalid: The run has no such rank, or the piece is empty.
            Misplaced: The log does not end at `offset`.
            Temporary: The store cannot write now.
        """
        if not data:
            raise Invalid("", None, "there is no body: send a piece of the log")
        async with self.store.read() as tx:
            await live_rank(tx, run_id, rank)
        return await self.store.logs.append(run_id, rank, offset=offset, data=data, keep=self.keep_bytes, skip=skip)
