"""Tasks, specs and runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    CursorResult,
    Row,
    Select,
    and_,
    bindparam,
    delete,
    func,
    insert,
    select,
    update,
)

from hai_scheduler.adapters.sql.base import Part
from hai_scheduler.adapters.sql.rows import (
    run_of,
    run_values,
    spec_of,
    spec_values,
    task_of,
    task_values,
    to_instant,
)
from hai_scheduler.adapters.sql.tables import RUNS, SPECS, TASKS
from hai_scheduler.core.model import Priority, Run, Task, TaskId, TaskSpec
from hai_scheduler.ports import Conflict, NotFound, TaskFilter

#: A task with its latest run: the columns of the one, then those of the other.
_TASKS: Select[Any] = select(*TASKS.c, *(column.label(f"run__{column.name}") for column in RUNS.c)).select_from(
    TASKS.outerjoin(RUNS, and_(RUNS.c.task_id == TASKS.c.id, RUNS.c.number == TASKS.c.run_number))
)
_WIDTH = len(TASKS.c)
_ONE = _TASKS.where(TASKS.c.id == bindparam("task_id"))
_UNFINISHED = _TASKS.where(TASKS.c.ended.is_(False)).order_by(TASKS.c.id)
_SAVE = update(TASKS).where(TASKS.c.id == bindparam("_id"), TASKS.c.version == bindparam("_version"))


def _tasks(rows: CursorResult[Any]) -> list[Task]:
    return [_task(row) for row in rows]


def _task(row: Row[Any]) -> Task:
    return task_of(row, None if row[_WIDTH] is None else run_of(row[_WIDTH:]))


class TaskPart(Part):
    """The part of a transaction that deals with tasks."""

    async def add_task(self, task: Task, spec: TaskSpec, *, idempotency_key: str | None = None) -> Task:
        """See `Tx.add_task`."""
        if idempotency_key is not None:
            # Nobody can slip in between: writers are serialised.
            mine = and_(TASKS.c.user_name == task.user, TASKS.c.idempotency_key == idempotency_key)
            for known in _tasks(await self._ask(_TASKS.where(mine))):
                return known
        row = {**task_values(task), "version": 1, "idempotency_key": idempotency_key}
        (number,) = (await self._change(insert(TASKS), row)).inserted_primary_key or (0,)
        added = replace(task, id=TaskId(number), version=1)
        await self._change(insert(SPECS), spec_values(added.id, spec))
        if added.run is not None:
            await self._put(RUNS, run_values(added.id, added.run))
        return added

    async def get_task(self, task_id: TaskId) -> Task:
        """See `Tx.get_task`."""
        for task in _tasks(await self._ask(_ONE, {"task_id": task_id})):
            return task
        raise NotFound(f"there is no task {task_id}")

    async def find_task(self, user: str, name: str) -> Task | None:
        """See `Tx.find_task`."""
        named = _TASKS.where(TASKS.c.user_name == user, TASKS.c.name == name)
        found = _tasks(await self._ask(named.order_by(TASKS.c.ended, TASKS.c.id.desc()).limit(1)))
        return found[0] if found else None

    async def get_spec(self, task_id: TaskId) -> TaskSpec:
        """See `Tx.get_spec`."""
        row = (await self._ask(select(SPECS).where(SPECS.c.task_id == task_id))).first()
        if row is None:
            raise NotFound(f"there is no task {task_id}")
        return spec_of(row)

    async def save_task(self, task: Task) -> Task:
        """See `Tx.save_task`."""
        saved = replace(task, version=task.version + 1)
        row = {**task_values(saved), "version": saved.version, "_id": task.id, "_version": task.version}
        if (await self._change(_SAVE, row)).rowcount == 0:
            stored = await self.get_task(task.id)
            raise Conflict(f"task {task.id} is at version {stored.version}, not {task.version}")
        if saved.run is not None:
            await self._put(RUNS, run_values(saved.id, saved.run))
        return saved

    async def unfinished_tasks(self) -> Sequence[Task]:
        """See `Tx.unfinished_tasks`. One query."""
        return _tasks(await self._ask(_UNFINISHED))

    async def list_tasks(self, where: TaskFilter, *, before: TaskId | None, limit: int) -> Sequence[Task]:
        """See `Tx.list_tasks`."""
        page = _TASKS.where(*_conditions(where)).order_by(TASKS.c.id.desc()).limit(limit)
        return _tasks(await self._ask(page if before is None else page.where(TASKS.c.id < before)))

    async def count_tasks(self, user: str) -> int:
        """See `Tx.count_tasks`."""
        mine = and_(TASKS.c.user_name == user, TASKS.c.ended.is_(False))
        return int((await self._ask(select(func.count()).select_from(TASKS).where(mine))).scalar_one())

    async def runs(self, task_id: TaskId) -> Sequence[Run]:
        """See `Tx.runs`."""
        found = await self._ask(select(RUNS).where(RUNS.c.task_id == task_id).order_by(RUNS.c.number))
        return [run_of(row) for row in found]

    async def ended_before(self, when: datetime, *, limit: int) -> Sequence[Task]:
        """See `Tx.ended_before`."""
        over = _TASKS.where(TASKS.c.ended.is_(True), TASKS.c.ended_at < to_instant(when))
        return _tasks(await self._ask(over.order_by(TASKS.c.ended_at, TASKS.c.id).limit(limit)))

    async def delete_task(self, task_id: TaskId) -> None:
        """See `Tx.delete_task`. Raises NotFound, and Conflict for a task that has not ended."""
        # Spec and runs go with it (ON DELETE CASCADE).
        if (await self._change(delete(TASKS).where(TASKS.c.id == task_id, TASKS.c.ended.is_(True)))).rowcount == 0:
            await self.get_task(task_id)
            raise Conflict(f"task {task_id} has not ended")


def _conditions(where: TaskFilter) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if where.user is not None:
        conditions.append(TASKS.c.user_name == where.user)
    if where.states is not None:
        conditions.append(TASKS.c.state.in_([state.value for state in where.states]))
    if where.group is not None:
        conditions.append(TASKS.c.group_name == where.group)
    if where.priority is not None:
        conditions.append(_at_level(where.priority.upper()))
    if where.name is not None:
        conditions.append(func.lower(TASKS.c.name).contains(where.name.lower(), autoescape=True))
    return conditions


def _at_level(name: str) -> ColumnElement[bool]:
    """Tasks that ask for the level of that name; `AUTO` for none, an unknown name fits no task."""
    if name == "AUTO":
        return TASKS.c.priority.is_(None)
    return TASKS.c.priority.in_([level.value for level in Priority if level.name == name])
