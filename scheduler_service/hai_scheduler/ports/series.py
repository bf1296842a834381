"""The port to the series of metrics that ranks have sent."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from hai_scheduler.core.metrics.series import Point
from hai_scheduler.core.metrics.series_piece import RankPiece
from hai_scheduler.core.model.ids import RunId


class SeriesStore(Protocol):
    """The series of all runs, each in several steps.

    Points are added at the finest step. Those of a chunk of time that is over are packed into one, and folded for the
    next level (`pack`, `hai_scheduler.core.metrics.retention`). Every call is a transaction of its own.
    """

    async def append(self, run_id: RunId, rank: int, points: Sequence[Point]) -> int:
        """Add points to the end of a rank's series, as `add` does.

        Args:
            run_id: The run.
            rank: The rank.
            points: The points, in order of time.

        Returns:
            The end of the newest point of the rank, Unix time in seconds; 0 if there is none.

        Raises:
            Temporary: The store cannot write now.
        """
        ...

    async def add(self, pieces: Sequence[RankPiece]) -> Sequence[int]:
        """Add pieces to the ends of the series of their ranks, at the finest step, in one transaction.

        Points that are not newer than all that is there are left out: they were sent before. So a piece can be sent
        again after an answer that was lost.

        Args:
            pieces: The pieces; of one rank there may be several.

        Returns:
            For each piece the end of the newest point of its rank, Unix time in seconds; 0 if there is none.

        Raises:
            Temporary: The store cannot write now; nothing was added.
        """
        ...

    async def read(
        self,
        run_id: RunId,
        *,
        since: int,
        until: int,
        step: int,
        ranks: Sequence[int] | None = None,
        names: Collection[str] | None = None,
    ) -> dict[int, list[Point]]:
        """The points of a run, by rank (None: of all ranks), with these metrics alone (None: with all).

        They end after `since` and not after `until` (Unix time, seconds).
        Each moment is shown by one level: by the coarsest whose step is at most `step`, else by the next finer one, and
        where that is gone by the finest that is left. The points are not folded to `step`.
        """
        ...

    async def newer(self, run_id: RunId, after: Mapping[int, int]) -> dict[int, list[Point]]:
        """The points of the finest step that are newer than what a reader has, by rank.

        Args:
            run_id: The run.
            after: The end of the newest point that the reader has (Unix time, seconds), by rank; other ranks are left
                out.
        """
        ...

    async def newest(
        self, run_ids: Collection[RunId], *, since: int, names: frozenset[str] | None = None
    ) -> dict[RunId, dict[int, Point]]:
        """The newest point of each rank of those runs, at the finest step, with these metrics alone (None: with all).

        Only points that end after `since` (Unix time, seconds) count; runs without any are left out.
        """
        ...

    async def pack(self, *, now: int, limit: int) -> int:
        """Pack chunks of time that are over, fold them for the next level, and delete what is older than is kept.

        Args:
            now: Unix time, seconds.
            limit: Most chunks that are packed by this call.

        Returns:
            How many chunks were packed; less than `limit` when nothing is left to do.
        """
        ...

    async def forget(self, run_id: RunId) -> None:
        """Remove the series of the run, if there are any."""
        ...
