"""The logs that ranks have sent, as rows of a few thousand bytes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, nullcontext
from typing import Any, Final

from sqlalchemy import ColumnElement, Row, and_, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from hai_scheduler.core.model.ids import RunId
from hai_scheduler.ports.errors import Absent, OffsetMismatch, Temporary
from hai_scheduler.ports.logs import LogChunk, LogPlace, whole_lines
from hai_scheduler.store.engine import begin_writing, reading, translated, writing
from hai_scheduler.store.tables import LOG_PIECES

#: A piece is merged with the one before it if both together are not larger than this, in bytes: so a log that grows by
#: a line a second does not become a row a second.
MERGED_BYTES: Final = 16 * 1024
#: Most pieces in one answer.
PIECES: Final = 256


class LogStore:
    """The logs that ranks have sent; of each log the newest part is kept.

    Every call is a transaction of its own: logs arrive often and do not affect other facts of the store, so that
    neither waits for the other longer than the database requires. In PostgreSQL a piece of a log does not wait for
    other writers at all: the primary key keeps a piece from being stored twice.
    """

    def __init__(self, engine: AsyncEngine, turn: asyncio.Lock) -> None:
        self._readers = reading(engine)
        self._writers = writing(engine)
        self._turn = turn if engine.dialect.name == "sqlite" else nullcontext()

    def place(self, _run_id: RunId) -> LogPlace:
        """See `LogSource.place`."""
        return LogPlace()

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
            OffsetMismatch: The log does not end at `offset`; with `skip`, only if the log ends behind `offset`.
            Temporary: The same rank sends two pieces at once, or the store cannot write now.
        """
        own = _of(run_id, rank)
        async with self._writing() as connection:
            last = (await connection.execute(_LAST.where(own))).first()
            end = 0 if last is None else last.next
            if offset != end and not (skip and offset > end):
                raise OffsetMismatch(end)
            await _add(connection, own, {"run_id": run_id, "rank": rank}, last, offset, data)
            old = LOG_PIECES.c.next <= offset + len(data) - keep
            await connection.execute(delete(LOG_PIECES).where(own, old))
        return offset + len(data)

    async def read(self, run_id: RunId, rank: int, *, offset: int, limit: int, ended: bool) -> LogChunk:
        """See `LogSource.read`."""
        own = _of(run_id, rank)
        with translated():
            async with self._readers.connect() as connection:
                end = (await connection.execute(select(func.max(LOG_PIECES.c.next)).where(own))).scalar_one()
                if end is None:
                    raise Absent(f"no log of rank {rank} of run {run_id} is kept")
                behind = LOG_PIECES.c.next > offset
                sizes = select(LOG_PIECES.c.start, LOG_PIECES.c.next).where(own, behind).order_by(LOG_PIECES.c.start)
                until = _until((await connection.execute(sizes.limit(PIECES))).all(), offset, limit)
                found = select(LOG_PIECES).where(own, behind, LOG_PIECES.c.start <= until).order_by(LOG_PIECES.c.start)
                rows = (await connection.execute(found)).all()
        return join(((row.start, row.data) for row in rows), offset=offset, limit=limit, end=end, ended=ended)

    async def forget(self, run_id: RunId) -> None:
        """See `LogSource.forget`."""
        async with self._writing() as connection:
            await connection.execute(delete(LOG_PIECES).where(LOG_PIECES.c.run_id == run_id))

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[AsyncConnection]:
        with translated():
            async with self._turn, self._writers.begin() as connection:
                await connection.run_sync(begin_writing)
                yield connection


def join(pieces: Iterable[tuple[int, bytes]], *, offset: int, limit: int, end: int, ended: bool) -> LogChunk:
    """Return whole lines from `offset`; of a line that is longer than the limit, a piece.

    Args:
        pieces: The offset and the bytes of each piece that is kept from `offset` on; if they are longer than the limit,
            the first ones are enough.
        offset: Bytes since the first line.
        limit: About how many bytes at most.
        end: The offset of the end of the log.
        ended: Whether the log is complete.
    """
    start, size = min(offset, end), 0
    kept: list[bytes] = []
    for begin, data in pieces:
        if begin + len(data) <= start:
            continue
        if not kept:
            start = max(start, begin)
        elif begin != start + size:
            # It comes after a gap: the next call returns it.
            break
        kept.append(data[start + size - begin : start + limit - begin])
        size += len(kept[-1])
        if size >= limit:
            break
    joined = b"".join(kept)
    if start + len(joined) < end:
        joined = whole_lines(joined, limit)
    reached = start + len(joined)
    return LogChunk(start=start, next=reached, data=joined, final=ended and reached >= end, end=end)


_LAST = select(LOG_PIECES).order_by(LOG_PIECES.c.start.desc()).limit(1)


def _of(run_id: RunId, rank: int) -> ColumnElement[bool]:
    return and_(LOG_PIECES.c.run_id == run_id, LOG_PIECES.c.rank == rank)


async def _add(
    connection: AsyncConnection,
    own: ColumnElement[bool],
    key: dict[str, Any],
    last: Row[Any] | None,
    offset: int,
    data: bytes,
) -> None:
    """Merge a piece with the last one, or add it after that. Raises Temporary if another call was faster."""
    at_once = Temporary("two pieces of one log came at once")
    values = {"next": offset + len(data), "data": data}
    if last is None or last.next != offset or len(last.data) + len(data) > MERGED_BYTES:
        try:
            await connection.execute(insert(LOG_PIECES).values(**key, start=offset, **values))
        except IntegrityError as error:
            raise at_once from error
        return
    the_last = and_(own, LOG_PIECES.c.start == last.start, LOG_PIECES.c.next == last.next)
    values["data"] = last.data + data
    if (await connection.execute(update(LOG_PIECES).where(the_last).values(**values))).rowcount == 0:
        raise at_once


def _until(pieces: Sequence[Any], offset: int, limit: int) -> int:
    """Return the start of the last piece that is needed for `limit` bytes."""
    size = 0
    for piece in pieces:
        size += piece.next - max(piece.start, offset)
        if size >= limit:
            return int(piece.start)
    return int(pieces[-1].start) if pieces else 0
