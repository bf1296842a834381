"""Gathers the pieces that many ranks send at about the same time, and stores them in one transaction."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from hai_scheduler.core.metrics.series_piece import RankPiece
from hai_scheduler.ports.clock import Clock
from hai_scheduler.store.store import Store

#: Pieces that wait at most. Each holds one of the places that its run has for requests (`ApiLimits.run`, 32): the run's
#: other reports need some, and after a restart, when all ranks send, pieces must not wait for a clock.
MOST: Final = 16


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A piece, and who waits for it to be stored."""

    piece: RankPiece
    #: The end of its rank's newest point, when it is stored.
    newest: asyncio.Future[int]


class PieceGatherer:
    """Stores pieces together. None is acknowledged before it is stored.

    Args:
        store: Where they are stored.
        clock: The clock.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._waiting: list[_Waiting] = []
        #: Ends the wait of the oldest piece; None: none waits.
        self._timer: asyncio.Task[None] | None = None
        self._writing: set[asyncio.Task[None]] = set()

    async def put(self, piece: RankPiece, *, wait: float) -> int:
        """Store a piece.

        Args:
            piece: The piece.
            wait: How long it may wait for others, seconds; 0: it is stored at once, with all that wait.

        Returns:
            The end of the newest point of the rank, Unix time in seconds; 0 if there is none.

        Raises:
            Temporary: The store cannot write now.
        """
        mine = _Waiting(piece, asyncio.get_running_loop().create_future())
        self._waiting.append(mine)
        if wait <= 0 or len(self._waiting) >= MOST:
            self._store_all()
        elif self._timer is None:
            self._timer = asyncio.create_task(self._later(wait))
        return await mine.newest

    async def _later(self, wait: float) -> None:
        await self._clock.sleep(wait)
        self._timer = None
        self._store_all()

    def _store_all(self) -> None:
        """Begin to store all that wait."""
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        some, self._waiting = self._waiting, []
        if some:
            task = asyncio.create_task(self._write(some))
            self._writing.add(task)
            task.add_done_callback(self._writing.discard)

    async def _write(self, some: list[_Waiting]) -> None:
        try:
            ends = await self._store.series.add([one.piece for one in some])
        except asyncio.CancelledError:
            for one in some:
                one.newest.cancel()
            raise
        except Exception as error:  # noqa: BLE001 - each of those who wait gets it
            for one in some:
                if not one.newest.done():
                    one.newest.set_exception(error)
            return
        for one, end in zip(some, ends, strict=True):
            if not one.newest.done():
                one.newest.set_result(end)
