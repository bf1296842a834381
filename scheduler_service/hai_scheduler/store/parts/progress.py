"""The progress of tasks, in a transaction on a database."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlalchemy import Row, bindparam, select

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.progress import StepProgress
from hai_scheduler.store.rows import of_instant, to_instant
from hai_scheduler.store.statements import Statements
from hai_scheduler.store.tables import PROGRESS

#: Most ids in one query: SQLite takes some thousands of values in a statement.
_MANY = 500
_SOME = select(PROGRESS).where(PROGRESS.c.task_id.in_(bindparam("task_ids", expanding=True)))


class SqlProgress:
    """See `ports.stored.progress.StoredProgress`."""

    def __init__(self, statements: Statements) -> None:
        self._sql = statements

    async def of(self, task_ids: Collection[TaskId]) -> Mapping[TaskId, StepProgress]:
        """See `StoredProgress.of`."""
        asked, found = sorted(task_ids), {}
        for begin in range(0, len(asked), _MANY):
            rows = await self._sql.ask(_SOME, {"task_ids": asked[begin : begin + _MANY]})
            found.update({TaskId(row.task_id): _progress_of(row) for row in rows})
        return found

    async def put(self, task_id: TaskId, progress: StepProgress) -> None:
        """See `StoredProgress.put`."""
        row = {
            "task_id": task_id,
            "run_number": progress.run,
            "rank": progress.rank,
            "step": progress.step,
            "total": progress.total,
            "at": to_instant(progress.at),
            "begin_step": progress.begin_step,
            "begin_at": to_instant(progress.begin_at),
            "pace_s": progress.pace_s,
        }
        await self._sql.put(PROGRESS, row)


def _progress_of(row: Row[tuple[object, ...]]) -> StepProgress:
    return StepProgress(
        run=row.run_number,
        rank=row.rank,
        step=row.step,
        total=row.total,
        at=of_instant(row.at),
        begin_step=row.begin_step,
        begin_at=of_instant(row.begin_at),
        pace_s=row.pace_s,
    )
