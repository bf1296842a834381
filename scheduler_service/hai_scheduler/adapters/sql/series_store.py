"""The series of metrics that ranks have sent, as rows of packed points."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager, nullcontext
from itertools import groupby
from typing import Any

from sqlalchemy import ColumnElement, Row, and_, bindparam, delete, func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from hai_scheduler.adapters.sql.engine import reading, writing
from hai_scheduler.adapters.sql.tables import SERIES
from hai_scheduler.adapters.sql.trouble import translated
from hai_scheduler.core.metrics.levels import merged
from hai_scheduler.core.metrics.packing import pack, unpack
from hai_scheduler.core.metrics.retention import LEVELS, SeriesLevel, chunk_of, joined
from hai_scheduler.core.metrics.series import Point, fold
from hai_scheduler.core.model.ids import RunId

_FINEST = LEVELS[0]


#: Most runs in one query: SQLite takes some thousands of values in a statement.
_MANY = 500
_ENDS = (
    select(SERIES.c.run_id, SERIES.c.rank, func.max(SERIES.c.until).label("until"))
    .where(
        SERIES.c.run_id.in_(bindparam("run_ids", expanding=True)),
        SERIES.c.step == _FINEST.step,
        SERIES.c.until > bindparam("since"),
    )
    .group_by(SERIES.c.run_id, SERIES.c.rank)
    .subquery()
)
#: The row with the newest point of each rank of some runs.
_NEWEST = select(SERIES.c.run_id, SERIES.c.rank, SERIES.c.data).join(
    _ENDS,
    and_(
        SERIES.c.run_id == _ENDS.c.run_id,
        SERIES.c.rank == _ENDS.c.rank,
        SERIES.c.step == _FINEST.step,
        SERIES.c.until == _ENDS.c.until,
    ),
)


class SqlSeries:
    """See `hai_scheduler.ports.series.SeriesStore`."""

    def __init__(self, engine: AsyncEngine, turn: asyncio.Lock) -> None:
        self._readers = reading(engine)
        self._writers = writing(engine)
        self._turn = turn if engine.dialect.name == "sqlite" else nullcontext()

    async def append(self, run_id: RunId, rank: int, points: Sequence[Point]) -> int:
        """See `SeriesStore.append`."""
        own = _of(run_id, rank, _FINEST)
        async with self._writing() as connection:
            end = (await connection.execute(select(func.max(SERIES.c.until)).where(own))).scalar_one() or 0
            new = [point for point in points if point.at > end]
            # A piece lies within one chunk, so that a chunk is packed as a whole.
            for _, piece in groupby(new, key=lambda point: chunk_of(point.at, _FINEST)):
                await _add(connection, run_id, rank, _FINEST, list(piece), packed=False)
        return new[-1].at if new else int(end)

    async def read(
        self, run_id: RunId, *, since: int, until: int, step: int, ranks: Sequence[int] | None = None
    ) -> dict[int, list[Point]]:
        """See `SeriesStore.read`."""
        wanted = [SERIES.c.run_id == run_id, SERIES.c.until > since]
        if ranks is not None:
            wanted.append(SERIES.c.rank.in_(ranks))
        with translated():
            async with self._readers.connect() as connection:
                rows = (await connection.execute(select(SERIES).where(*wanted).order_by(SERIES.c.until))).all()
        # A day of many GPUs takes some tenths of a second, in which other requests must not wait.
        return await asyncio.to_thread(_unpacked, rows, since, until, step)

    async def newest(self, run_ids: Collection[RunId], *, since: int) -> dict[RunId, dict[int, Point]]:
        """See `SeriesStore.newest`."""
        asked = sorted(run_ids)
        rows: list[Row[Any]] = []
        with translated():
            async with self._readers.connect() as connection:
                for begin in range(0, len(asked), _MANY):
                    wanted = {"run_ids": asked[begin : begin + _MANY], "since": since}
                    rows += (await connection.execute(_NEWEST, wanted)).all()
        return await asyncio.to_thread(_last_points, rows)

    async def pack(self, *, now: int, limit: int) -> int:
        """See `SeriesStore.pack`."""
        packed = 0
        for level in LEVELS:
            while packed < limit and await self._pack_one(level, now):
                packed += 1
            async with self._writing() as connection:
                old = and_(SERIES.c.step == level.step, SERIES.c.until <= now - level.keep)
                await connection.execute(delete(SERIES).where(old))
        return packed

    async def forget(self, run_id: RunId) -> None:
        """See `SeriesStore.forget`."""
        async with self._writing() as connection:
            await connection.execute(delete(SERIES).where(SERIES.c.run_id == run_id))

    async def _pack_one(self, level: SeriesLevel, now: int) -> bool:
        """Pack one chunk of a level that is over; return whether there was one."""
        over = now // level.chunk * level.chunk
        due = and_(SERIES.c.step == level.step, SERIES.c.packed.is_(False), SERIES.c.until <= over)
        async with self._writing() as connection:
            first = (await connection.execute(select(SERIES).where(due).order_by(SERIES.c.until).limit(1))).first()
            if first is None:
                return False
            end = chunk_of(first.until, level)
            inside = and_(
                _of(first.run_id, first.rank, level), SERIES.c.until > end - level.chunk, SERIES.c.until <= end
            )
            rows = (await connection.execute(select(SERIES).where(inside).order_by(SERIES.c.id))).all()
            points = await asyncio.to_thread(_joined, rows)
            await connection.execute(delete(SERIES).where(inside))
            await _add(connection, first.run_id, first.rank, level, points, packed=True)
            coarser = LEVELS.index(level) + 1
            if coarser < len(LEVELS):
                folded = fold(points, LEVELS[coarser].step)
                await _add(connection, first.run_id, first.rank, LEVELS[coarser], folded, packed=False)
        return True

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[AsyncConnection]:
        with translated():
            async with self._turn, self._writers.begin() as connection:
                yield connection


def _unpacked(rows: Sequence[Row[Any]], since: int, until: int, step: int) -> dict[int, list[Point]]:
    """Return the points of rows as `SeriesStore.read` does."""
    by_rank: dict[int, dict[int, list[Point]]] = {}
    for row in rows:
        points = [point for point in unpack(row.data) if since < point.at <= until]
        by_rank.setdefault(row.rank, {}).setdefault(row.step, []).extend(points)
    found = {
        rank: merged({level: joined(seen) for level, seen in levels.items()}, step) for rank, levels in by_rank.items()
    }
    return {rank: points for rank, points in sorted(found.items()) if points}


def _last_points(rows: Sequence[Row[Any]]) -> dict[RunId, dict[int, Point]]:
    found: dict[RunId, dict[int, Point]] = {}
    for row in rows:
        found.setdefault(RunId(row.run_id), {})[row.rank] = unpack(row.data)[-1]
    return {run_id: dict(sorted(ranks.items())) for run_id, ranks in found.items()}


def _joined(rows: Sequence[Row[Any]]) -> list[Point]:
    return joined(point for row in rows for point in unpack(row.data))


def _of(run_id: RunId, rank: int, level: SeriesLevel) -> ColumnElement[bool]:
    return and_(SERIES.c.run_id == run_id, SERIES.c.rank == rank, SERIES.c.step == level.step)


async def _add(
    connection: AsyncConnection, run_id: RunId, rank: int, level: SeriesLevel, points: list[Point], *, packed: bool
) -> None:
    row = {"run_id": run_id, "rank": rank, "step": level.step, "until": points[-1].at, "packed": packed}
    await connection.execute(insert(SERIES).values(**row, data=pack(points)))
