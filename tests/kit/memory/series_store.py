"""The series of metrics that ranks have sent, in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from hai_scheduler.core.metrics.levels import merged
from hai_scheduler.core.metrics.packing import pack, unpack
from hai_scheduler.core.metrics.retention import LEVELS, SeriesLevel, chunk_of, joined
from hai_scheduler.core.metrics.series import Point, fold, is_wanted
from hai_scheduler.core.metrics.series_piece import RankPiece, SeriesPiece
from hai_scheduler.core.model.ids import RunId


class MemorySeries:
    """See `hai_scheduler.ports.series.SeriesStore`."""

    def __init__(self) -> None:
        #: Points by run, rank and step.
        self._points: dict[tuple[RunId, int, int], list[Point]] = {}
        #: The chunks that were packed already: run, rank, step and end.
        self._packed: set[tuple[RunId, int, int, int]] = set()

    async def append(self, run_id: RunId, rank: int, points: Sequence[Point]) -> int:
        """See `SeriesStore.append`."""
        return (await self.add([RankPiece(run_id, rank, SeriesPiece.of(points))]))[0]

    async def add(self, pieces: Sequence[RankPiece]) -> Sequence[int]:
        """See `SeriesStore.add`."""
        return [self._add(one.run_id, one.rank, one.piece.points()) for one in pieces]

    def _add(self, run_id: RunId, rank: int, points: Sequence[Point]) -> int:
        own = self._points.setdefault((run_id, rank, LEVELS[0].step), [])
        end = own[-1].at if own else 0
        # As packed: a store keeps numbers to about half a per cent.
        new = [point for point in points if point.at > end]
        own.extend(new)
        self._open(run_id, rank, LEVELS[0], new)
        return own[-1].at if own else 0

    def _open(self, run_id: RunId, rank: int, level: SeriesLevel, points: Sequence[Point]) -> None:
        """Let the chunks of new points be packed once more."""
        self._packed -= {(run_id, rank, level.step, chunk_of(point.at, level)) for point in points}

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
        """See `SeriesStore.read`."""
        by_rank: dict[int, dict[int, list[Point]]] = {}
        for (own, rank, level), points in self._points.items():
            if own == run_id and (ranks is None or rank in ranks):
                by_rank.setdefault(rank, {})[level] = [point for point in points if since < point.at <= until]
        found = {rank: merged(levels, step) for rank, levels in sorted(by_rank.items())}
        return {rank: [_only(point, names) for point in points] for rank, points in found.items() if points}

    async def newer(self, run_id: RunId, after: Mapping[int, int]) -> dict[int, list[Point]]:
        """See `SeriesStore.newer`."""
        found = {
            rank: [point for point in self._points.get((run_id, rank, LEVELS[0].step), []) if point.at > end]
            for rank, end in sorted(after.items())
        }
        return {rank: points for rank, points in found.items() if points}

    async def newest(
        self, run_ids: Collection[RunId], *, since: int, names: frozenset[str] | None = None
    ) -> dict[RunId, dict[int, Point]]:
        """See `SeriesStore.newest`."""
        found: dict[RunId, dict[int, Point]] = {}
        for (run_id, rank, step), points in sorted(self._points.items()):
            if run_id in run_ids and step == LEVELS[0].step and points and points[-1].at > since:
                found.setdefault(run_id, {})[rank] = _only(points[-1], names)
        return found

    async def pack(self, *, now: int, limit: int) -> int:
        """See `SeriesStore.pack`."""
        packed = 0
        for number, level in enumerate(LEVELS):
            for (run_id, rank, step), points in list(self._points.items()):
                ends = sorted({chunk_of(point.at, level) for point in points}) if step == level.step else []
                for end in ends:
                    key = (run_id, rank, step, end)
                    if end > now or key in self._packed or packed >= limit:
                        continue
                    packed += 1
                    self._packed.add(key)
                    if number + 1 < len(LEVELS):
                        coarser = (run_id, rank, LEVELS[number + 1].step)
                        inside = [point for point in points if chunk_of(point.at, level) == end]
                        folded = unpack(pack(fold(inside, coarser[2])))
                        self._points[coarser] = joined([*self._points.get(coarser, []), *folded])
                        self._open(run_id, rank, LEVELS[number + 1], folded)
                if step == level.step:
                    self._points[run_id, rank, step] = [
                        point
                        for point in points
                        if point.at > now - level.keep
                        or (run_id, rank, step, chunk_of(point.at, level)) not in self._packed
                    ]
        return packed

    async def forget(self, run_id: RunId) -> None:
        """See `SeriesStore.forget`."""
        self._points = {key: points for key, points in self._points.items() if key[0] != run_id}


def _only(point: Point, names: Collection[str] | None) -> Point:
    return Point(point.at, {name: seen for name, seen in point.values.items() if is_wanted(name, names)})
