"""Tasks as they are read: each row has the columns of a task, then those of its latest run."""

from __future__ import annotations

from typing import Any

from sqlalchemy import CursorResult, Row, Select, and_, select

from hai_scheduler.core.model.task import Task
from hai_scheduler.store.rows import run_of, task_of
from hai_scheduler.store.tables import RUNS, TASKS

#: The query for all tasks with their latest runs.
TASKS_WITH_RUNS: Select[Any] = select(
    *TASKS.c, *(column.label(f"run__{column.name}") for column in RUNS.c)
).select_from(TASKS.outerjoin(RUNS, and_(RUNS.c.task_id == TASKS.c.id, RUNS.c.number == TASKS.c.run_number)))
_WIDTH = len(TASKS.c)


def task_with_run(row: Row[Any]) -> Task:
    """Return the task of a row of `TASKS_WITH_RUNS`."""
    return task_of(row, None if row[_WIDTH] is None else run_of(row[_WIDTH:]))


def tasks_with_runs(rows: CursorResult[Any]) -> list[Task]:
    """Return the tasks of all rows."""
    return [task_with_run(row) for row in rows]
