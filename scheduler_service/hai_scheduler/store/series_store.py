"""The series of metrics that ranks have sent, as rows of packed points."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from itertools import chain, groupby
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Row,
    and_,
    bindparam,
    cast,
    delete,
    exists,
    false,
    func,
    insert,
    literal,
    or_,
    select,
)
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from hai_scheduler.core.metrics.columns import PackedColumns, folded_columns, joined_columns
from hai_scheduler.core.metrics.levels import in_turn, merged, span_of
from hai_scheduler.core.metrics.packing import pack, pack_columns, read_columns, unpack, unpack_last
from hai_scheduler.core.metrics.retention import LEVELS, SeriesLevel, chunk_of, joined
from hai_scheduler.core.metrics.series import Point
from hai_scheduler.core.metrics.series_piece import RankPiece, SeriesPiece
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.ports.reading import in_reader
from hai_scheduler.store.engine import begin_writing, reading, translated, writing
from hai_scheduler.store.tables import SERIES

_FINEST = LEVELS[0]
_BY_STEP = {level.step: level for level in LEVELS}


#: Most runs in one query: SQLite takes some thousands of values in a statement.
_MANY = 500
#: Ranks whose newest point is remembered.
_REMEMBERED = 2048
_ENDS = (
    select(SERIES.c.run_id, SERIES.c.rank, func.max(SERIES.c.until).label("until"))
    .where(
        SERIES.c.run_id.in_(bindparam("run_ids", expanding=True)),
        SERIES.c.step == _FINEST.step,
        SERIES.c.until > bindparam("since"),
    )
    .group_by(SERIES.c.run_id, SERIES.c.rank)
)
_END = _ENDS.subquery()
#: The row with the newest point of each rank of some runs.
_NEWEST = select(SERIES.c.run_id, SERIES.c.rank, SERIES.c.data).join(
    _END,
    and_(
        SERIES.c.run_id == _END.c.run_id,
        SERIES.c.rank == _END.c.rank,
        SERIES.c.step == _FINEST.step,
        SERIES.c.until == _END.c.until,
    ),
)
#: Adds a piece if all of it is newer than what is there.
_ADD_IF_NEW = insert(SERIES).from_select(
    ["run_id", "rank", "step", "until", "packed", "data"],
    select(
        *(cast(bindparam(name, type_=SERIES.c[name].type), SERIES.c[name].type) for name in ("run_id", "rank")),
        literal(_FINEST.step),
        cast(bindparam("until", type_=SERIES.c.until.type), SERIES.c.until.type),
        false(),
        cast(bindparam("data", type_=SERIES.c.data.type), SERIES.c.data.type),
    ).where(
        ~exists().where(
            SERIES.c.run_id == bindparam("run_id", type_=SERIES.c.run_id.type),
            SERIES.c.rank == bindparam("rank", type_=SERIES.c.rank.type),
            SERIES.c.step == _FINEST.step,
            SERIES.c.until >= bindparam("first", type_=SERIES.c.until.type),
        )
    ),
)


class _Chunk(NamedTuple):
    """What a row holds of some points: the end of the last one, and their bytes."""

    until: int
    data: bytes


class SeriesStore:
    """The series of all runs, each in several steps.

    Points are added at the finest step. Those of a chunk of time that is over are packed into one, and folded for the
    next level (`pack`, `hai_scheduler.core.metrics.retention`). Every call is a transaction of its own.
    """

    def __init__(self, engine: AsyncEngine, turn: asyncio.Lock) -> None:
        self._readers = reading(engine)
        #: The newest points that were asked for, by run and rank, and of which metrics they are.
        self._last: dict[tuple[str, int], Point] = {}
        self._last_names: frozenset[str] | None = None
        self._writers = writing(engine)
        self._turn = turn if engine.dialect.name == "sqlite" else nullcontext()

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
        return (await self.add([RankPiece(run_id, rank, SeriesPiece.of(points))]))[0]

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
        by_rank = Counter((one.run_id, one.rank) for one in pieces)
        # Nearly all pieces are wholly new and lie within one chunk: they are stored as they came, in one statement.
        whole = [one for one in pieces if by_rank[one.run_id, one.rank] == 1 and _is_whole(one.piece)]
        rows = [_row(one.run_id, one.rank, one.piece) for one in whole]
        async with self._writing() as connection:
            added = (await connection.execute(_ADD_IF_NEW, rows)).rowcount if rows else 0
            known = {id(one) for one in whole} if added == len(rows) else set()
            # One by one what is not, and where some were there already: what was just added is there, too.
            return [one.piece.ends[-1] if id(one) in known else await _add_new(connection, one) for one in pieces]

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
        by_rank: dict[int, dict[int, list[Point]]] = {}
        for level in (_BY_STEP[one] for one in in_turn(_BY_STEP, step)):
            # No row is longer than a chunk.
            wanted = [
                SERIES.c.run_id == run_id,
                SERIES.c.step == level.step,
                SERIES.c.until > since,
                SERIES.c.until < until + level.chunk,
            ]
            if ranks is not None:
                wanted.append(SERIES.c.rank.in_(ranks))
            if by_rank:
                # Most of a finer level is what another one shows already, and takes long to unpack.
                shown = [span_of(chain(*levels.values()), min(levels)) for levels in by_rank.values()]
                begin, end = max(begin for begin, _ in shown), min(end for _, end in shown)
                outside = or_(SERIES.c.until > end, SERIES.c.until <= begin + level.chunk)
                wanted.append(or_(SERIES.c.rank.not_in(list(by_rank)), outside))
            with translated():
                async with self._readers.connect() as connection:
                    rows = (await connection.execute(select(SERIES).where(*wanted).order_by(SERIES.c.until))).all()
            # A day of many GPUs takes some tenths of a second, in which other requests must not wait.
            found = await in_reader(partial(_unpacked, rows, since, until, names))
            for rank, points in found.items():
                by_rank.setdefault(rank, {})[level.step] = points
        return {rank: merged(levels, step) for rank, levels in sorted(by_rank.items())}

    async def newer(self, run_id: RunId, after: Mapping[int, int]) -> dict[int, list[Point]]:
        """The points of the finest step that are newer than what a reader has, by rank.

        Args:
            run_id: The run.
            after: The end of the newest point that the reader has (Unix time, seconds), by rank; other ranks are left
                out.
        """
        if not after:
            return {}
        own = [and_(_of(run_id, rank, _FINEST), SERIES.c.until > end) for rank, end in after.items()]
        with translated():
            async with self._readers.connect() as connection:
                rows = (await connection.execute(select(SERIES).where(or_(*own)).order_by(SERIES.c.until))).all()
        by_rank: dict[int, list[Row[Any]]] = {}
        for row in rows:
            by_rank.setdefault(row.rank, []).append(row)
        found = {rank: [p for p in _joined(by_rank[rank]) if p.at > after[rank]] for rank in sorted(by_rank)}
        return {rank: points for rank, points in found.items() if points}

    async def newest(
        self, run_ids: Collection[RunId], *, since: int, names: frozenset[str] | None = None
    ) -> dict[RunId, dict[int, Point]]:
        """The newest point of each rank of those runs, at the finest step, with these metrics alone (None: with all).

        A point is unpacked once, however often and by how many users it is asked for.

        Only points that end after `since` (Unix time, seconds) count; runs without any are left out.
        """
        if names != self._last_names:
            self._last, self._last_names = {}, names
        last = self._last
        ends, rows = await self._ends(run_ids, since, last)
        for row, point in zip(rows, await in_reader(partial(_last_points, rows, names)), strict=True):
            last[row.run_id, row.rank] = point
        found: dict[RunId, dict[int, Point]] = {}
        for run_id, rank in sorted(ends):
            if (run_id, rank) in last:
                found.setdefault(RunId(run_id), {})[rank] = last[run_id, rank]
        while len(last) > _REMEMBERED:
            last.pop(next(iter(last)))
        return found

    async def _ends(
        self, run_ids: Collection[RunId], since: int, known: Mapping[tuple[str, int], Point]
    ) -> tuple[dict[tuple[str, int], int], list[Any]]:
        """The ends of the newest points, by run and rank, and the rows of those that are not known yet."""
        asked = sorted(run_ids)
        ends: dict[tuple[str, int], int] = {}
        rows: list[Any] = []
        with translated():
            async with self._readers.connect() as connection:
                for begin in range(0, len(asked), _MANY):
                    some: dict[str, Any] = {"run_ids": asked[begin : begin + _MANY], "since": since}
                    now = {(row.run_id, row.rank): row.until for row in await connection.execute(_ENDS, some)}
                    new = {key for key, end in now.items() if key not in known or known[key].at != end}
                    ends.update(now)
                    if new:
                        some["run_ids"] = sorted({run_id for run_id, _ in new})
                        found = await connection.execute(_NEWEST, some)
                        rows += [row for row in found if (row.run_id, row.rank) in new]
        return ends, rows

    async def pack(self, *, now: int, limit: int) -> int:
        """Pack chunks of time that are over, fold them for the next level, and delete what is older than is kept.

        Args:
            now: Unix time, seconds.
            limit: Most chunks that are packed by this call.

        Returns:
            How many chunks were packed; less than `limit` when nothing is left to do.
        """
        packed = 0
        for level in LEVELS:
            while packed < limit and await self._pack_one(level, now):
                packed += 1
            async with self._writing() as connection:
                # What is not packed is not folded yet, however old it is: the service may have been away for days.
                due = and_(SERIES.c.step == level.step, SERIES.c.packed.is_(True))
                old = and_(due, SERIES.c.until <= now - level.keep)
                await connection.execute(delete(SERIES).where(old))
        return packed

    async def forget(self, run_id: RunId) -> None:
        """Remove the series of the run, if there are any."""
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
            coarser = next(iter(LEVELS[LEVELS.index(level) + 1 :]), None)
            chunk, folded = await asyncio.to_thread(_packed, rows, None if coarser is None else coarser.step)
            await connection.execute(delete(SERIES).where(inside))
            await _insert(connection, first.run_id, first.rank, level, chunk, packed=True)
            if coarser is not None and folded is not None:
                await _insert(connection, first.run_id, first.rank, coarser, folded, packed=False)
        return True

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[AsyncConnection]:
        with translated():
            async with self._turn, self._writers.begin() as connection:
                await connection.run_sync(begin_writing)
                yield connection


def _is_whole(piece: SeriesPiece) -> bool:
    """Whether a piece has points, and lies within one chunk, so that a chunk is packed as a whole."""
    return bool(piece.ends) and chunk_of(piece.ends[0], _FINEST) == chunk_of(piece.ends[-1], _FINEST)


def _row(run_id: RunId, rank: int, piece: SeriesPiece) -> dict[str, Any]:
    first, last = piece.ends[0], piece.ends[-1]
    return {"run_id": run_id, "rank": rank, "first": first, "until": last, "data": piece.data}


async def _add_new(connection: AsyncConnection, one: RankPiece) -> int:
    """Add what is new of a piece, and return the end of the newest point of its rank."""
    own = _of(one.run_id, one.rank, _FINEST)
    end = (await connection.execute(select(func.max(SERIES.c.until)).where(own))).scalar_one() or 0
    if not one.piece.ends or one.piece.ends[-1] <= end:
        return int(end)
    new = [point for point in one.piece.points() if point.at > end]
    for _, points in groupby(new, key=lambda point: chunk_of(point.at, _FINEST)):
        await _add(connection, one.run_id, one.rank, _FINEST, list(points))
    return new[-1].at


def _unpacked(
    rows: Sequence[Row[Any]], since: int, until: int, names: Collection[str] | None
) -> dict[int, list[Point]]:
    """Return the points of rows of one level within a time, by rank, for ranks that have some."""
    by_rank: dict[int, list[Point]] = {}
    for row in rows:
        points = [point for point in unpack(row.data, names) if since < point.at <= until]
        if points:
            by_rank.setdefault(row.rank, []).extend(points)
    return {rank: joined(points) for rank, points in by_rank.items()}


def _last_points(rows: Sequence[Row[Any]], names: Collection[str] | None) -> list[Point]:
    return [unpack_last(row.data, names) for row in rows]


def _joined(rows: Sequence[Row[Any]]) -> list[Point]:
    return joined(point for row in rows for point in unpack(row.data))


def _of(run_id: RunId, rank: int, level: SeriesLevel) -> ColumnElement[bool]:
    return and_(SERIES.c.run_id == run_id, SERIES.c.rank == rank, SERIES.c.step == level.step)


def _packed(rows: Sequence[Row[Any]], coarser: int | None) -> tuple[_Chunk, _Chunk | None]:
    """Return the points of rows as one chunk, and as one with this step, in seconds, if there is a coarser level."""
    columns = joined_columns([read_columns(row.data) for row in rows])
    columns.check()
    folded = None if coarser is None else folded_columns(columns, coarser)
    return _chunk(columns), None if folded is None else _chunk(folded)


def _chunk(columns: PackedColumns) -> _Chunk:
    return _Chunk(columns.ends[-1], pack_columns(columns))


async def _add(
    connection: AsyncConnection, run_id: RunId, rank: int, level: SeriesLevel, points: Sequence[Point]
) -> None:
    await _insert(connection, run_id, rank, level, _Chunk(points[-1].at, pack(points)), packed=False)


async def _insert(
    connection: AsyncConnection, run_id: RunId, rank: int, level: SeriesLevel, chunk: _Chunk, *, packed: bool
) -> None:
    row = {"run_id": run_id, "rank": rank, "step": level.step, "packed": packed, **chunk._asdict()}
    await connection.execute(insert(SERIES).values(**row))
