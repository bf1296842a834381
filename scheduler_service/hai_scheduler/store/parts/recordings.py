"""The recordings of tasks, in a transaction on a database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import ColumnElement, delete, func, insert, select, update

from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.profiling.recordings import Recording
from hai_scheduler.ports.errors import Absent, OffsetMismatch
from hai_scheduler.store.rows import RECORDING
from hai_scheduler.store.small_tables import StoredPart
from hai_scheduler.store.tables import RECORDINGS, TRACE_PIECES


class StoredRecordings(StoredPart):
    """The recordings with their traces. They are deleted with their task."""

    async def add(self, recording: Recording) -> Recording:
        """Add a recording; returns it with its number, which grows with every one."""
        done = await self._sql.change(insert(RECORDINGS), RECORDING.values(recording, size=recording.size))
        (number,) = done.inserted_primary_key or (0,)
        return replace(recording, id=int(number))

    async def save(self, recording: Recording) -> None:
        """Replace a recording; does nothing if it is gone."""
        changed = (
            update(RECORDINGS)
            .where(RECORDINGS.c.id == recording.id)
            .values(RECORDING.values(recording, size=recording.size))
        )
        await self._sql.change(changed)

    async def get(self, number: int) -> Recording:
        """The recording with that number. Raises Absent."""
        row = (await self._sql.ask(select(RECORDINGS).where(RECORDINGS.c.id == number))).first()
        if row is None:
            raise Absent(f"there is no recording {number}")
        return RECORDING.of(row)

    async def of_task(self, task_id: TaskId) -> Sequence[Recording]:
        """The recordings of a task, the newest first."""
        found = select(RECORDINGS).where(RECORDINGS.c.task_id == task_id).order_by(RECORDINGS.c.id.desc())
        return [RECORDING.of(row) for row in await self._sql.ask(found)]

    async def newest_of_run(self, run_id: RunId) -> Recording | None:
        """The newest recording of a run, if there is one."""
        found = select(RECORDINGS).where(RECORDINGS.c.run_id == run_id).order_by(RECORDINGS.c.id.desc()).limit(1)
        row = (await self._sql.ask(found)).first()
        return None if row is None else RECORDING.of(row)

    async def kept_of(self, user: str) -> Sequence[tuple[int, int]]:
        """The numbers of the recordings of a user's tasks with the bytes of their traces, the oldest first."""
        found = select(RECORDINGS.c.id, RECORDINGS.c.size).where(RECORDINGS.c.user_name == user)
        return [(row.id, row.size) for row in await self._sql.ask(found.order_by(RECORDINGS.c.id))]

    async def delete(self, number: int) -> None:
        """Delete a recording with its traces. The database deletes the pieces with it."""
        await self._sql.change(delete(RECORDINGS).where(RECORDINGS.c.id == number))

    async def add_piece(self, number: int, rank: int, trace: int, *, offset: int, data: bytes) -> int:
        """Add a piece to the end of a trace.

        Args:
            number: The recording.
            rank: The rank.
            trace: The number of the trace among those of the rank.
            offset: Where the piece begins.
            data: The piece.

        Returns:
            The bytes of all traces of the rank.

        Raises:
            OffsetMismatch: The trace does not end at `offset`.
            Absent: There is no such recording.
        """
        if (await self._sql.ask(select(RECORDINGS.c.id).where(RECORDINGS.c.id == number))).first() is None:
            raise Absent(f"there is no recording {number}")
        own = {"recording": number, "rank": rank, "trace": trace}
        last = select(func.max(TRACE_PIECES.c.next)).where(*_of(number, rank, trace))
        end = (await self._sql.ask(last)).scalar_one() or 0
        if offset != end:
            raise OffsetMismatch(end)
        await self._sql.change(insert(TRACE_PIECES), {**own, "start": offset, "next": offset + len(data), "data": data})
        columns = TRACE_PIECES.c
        of_rank = select(func.sum(columns.next - columns.start)).where(
            columns.recording == number, columns.rank == rank
        )
        return int((await self._sql.ask(of_rank)).scalar_one())

    async def trace(self, number: int, rank: int, trace: int) -> bytes:
        """All pieces of a trace, joined; empty if there are none."""
        found = select(TRACE_PIECES.c.data).where(*_of(number, rank, trace)).order_by(TRACE_PIECES.c.start)
        return b"".join([row.data for row in await self._sql.ask(found)])


def _of(number: int, rank: int, trace: int) -> tuple[ColumnElement[bool], ...]:
    columns = TRACE_PIECES.c
    return (columns.recording == number, columns.rank == rank, columns.trace == trace)
