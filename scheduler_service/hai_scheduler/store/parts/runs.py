"""Runs in a transaction on a database."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import select

from hai_scheduler.core.model.ids import Origin, RunId, TaskId
from hai_scheduler.core.model.run import Run
from hai_scheduler.store.rows import RUN
from hai_scheduler.store.small_tables import StoredPart
from hai_scheduler.store.tables import RUNS

#: Most ids in one query: SQLite takes some thousands of values in a statement.
_MANY = 500


class StoredRuns(StoredPart):
    """All runs of tasks, the earlier ones too. They are written and deleted with their tasks (`StoredTasks`)."""

    async def of_task(self, task_id: TaskId) -> Sequence[Run]:
        """All runs of a task, in the order of their numbers; none for an unknown task."""
        found = await self._sql.ask(select(RUNS).where(RUNS.c.task_id == task_id).order_by(RUNS.c.number))
        return [RUN.of(row) for row in found]

    async def origins(self, task_ids: Collection[TaskId]) -> Mapping[RunId, Origin | None]:
        """The origin of every run of those tasks, by run id; unknown tasks are left out (decision 0016)."""
        asked, found = sorted(task_ids), {}
        for begin in range(0, len(asked), _MANY):
            some = RUNS.c.task_id.in_(asked[begin : begin + _MANY])
            rows = await self._sql.ask(select(RUNS.c.run_id, RUNS.c.origin).where(some))
            found.update({RunId(row.run_id): Origin.parse(row.origin) for row in rows})
        return found
