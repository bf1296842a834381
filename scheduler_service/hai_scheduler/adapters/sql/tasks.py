"""Reads and writes tasks, specs and runs."""

from __future__ import annotations

import secrets
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
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
    false,
    func,
    insert,
    select,
    true,
    tuple_,
    update,
)

from hai_scheduler.adapters.sql.known import Head, Known, Stamp, Written
from hai_scheduler.adapters.sql.looking import FORGOTTEN, LookingPart
from hai_scheduler.adapters.sql.rows import (
    run_of,
    run_values,
    spec_of,
    spec_values,
    task_of,
    task_values,
    to_instant,
)
from hai_scheduler.adapters.sql.tables import RUNS, SETTINGS, SPECS, TASKS
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.sizes import size_of
from hai_scheduler.core.model.task import Task, TaskSpec
from hai_scheduler.ports.errors import Absent, WriteConflict
from hai_scheduler.ports.values import NewTask, TaskFilter

#: A task with its latest run: the columns of the task, then those of the run.
_TASKS: Select[Any] = select(*TASKS.c, *(column.label(f"run__{column.name}") for column in RUNS.c)).select_from(
    TASKS.outerjoin(RUNS, and_(RUNS.c.task_id == TASKS.c.id, RUNS.c.number == TASKS.c.run_number))
)
_WIDTH = len(TASKS.c)
_ONE = _TASKS.where(TASKS.c.id == bindparam("task_id"))
_SOME = _TASKS.where(TASKS.c.id.in_(bindparam("task_ids", expanding=True)))
_SOME_SPECS = select(SPECS).where(SPECS.c.task_id.in_(bindparam("task_ids", expanding=True)))
_UNFINISHED = _TASKS.where(TASKS.c.ended == false()).order_by(TASKS.c.id)
_HEADS = select(TASKS.c.id, TASKS.c.version, TASKS.c.saved_at).where(TASKS.c.ended == false()).order_by(TASKS.c.id)
#: More tasks than this are read with a query for all unfinished tasks, not by their ids.
_FEW = 500
_ANY = TASKS.alias("newest")
#: The number of the next write: writers are serialised, so that numbers grow in the order of commits.
_NEXT = select(func.coalesce(func.max(_ANY.c.change), 0) + 1).scalar_subquery()
_SAVE = (
    update(TASKS).where(TASKS.c.id == bindparam("_id"), TASKS.c.version == bindparam("_version")).values(change=_NEXT)
)
_ADD = insert(TASKS).returning(TASKS.c.id, sort_by_parameter_order=True)
_ADD_SPECS = insert(SPECS)
_KEYED = _TASKS.where(
    tuple_(TASKS.c.user_name, TASKS.c.idempotency_key).in_(bindparam("keys", expanding=True)),
)
_SINCE = _TASKS.where(TASKS.c.change >= bindparam("since")).order_by(TASKS.c.change)


def _now() -> int:
    return time.time_ns() // 1000


def _tasks(rows: CursorResult[Any]) -> list[Task]:
    return [_task(row) for row in rows]


def _task(row: Row[Any]) -> Task:
    return task_of(row, None if row[_WIDTH] is None else run_of(row[_WIDTH:]))


class TaskPart(LookingPart):
    """The part of a transaction that deals with tasks."""

    #: Whether this transaction has written tasks, so that it may read tasks that are not committed.
    _changed_tasks = False

    async def add_task(self, task: Task, spec: TaskSpec, *, idempotency_key: str | None = None) -> Task:
        """See `Tx.add_task`."""
        if idempotency_key is not None:
            # No other writer can add the key in between: writers are serialised.
            for earlier in (await self.keyed([(task.user, idempotency_key)])).values():
                return earlier
        (added,) = await self.add_tasks([NewTask(task=task, spec=spec, idempotency_key=idempotency_key)])
        return added

    async def add_tasks(self, new: Sequence[NewTask]) -> Sequence[Task]:
        """See `Tx.add_tasks`."""
        if not new:
            return []
        # The number of the next write: writers are serialised, so that numbers grow in the order of commits.
        number, now = ((await self._look()).change or 0) + 1, _now()
        self._changed_tasks = True
        rows = [
            {
                **task_values(each.task),
                "version": 1,
                "saved_at": now,
                "idempotency_key": each.idempotency_key,
                "size": size_of(each.spec),
                "change": change,
            }
            for change, each in enumerate(new, number)
        ]
        ids = (await self._change(_ADD, rows)).scalars()
        added = [replace(each.task, id=TaskId(given), version=1) for given, each in zip(ids, new, strict=True)]
        specs = [spec_values(task.id, each.spec) for task, each in zip(added, new, strict=True)]
        self._change_later(_ADD_SPECS, specs)
        for task in added:
            if task.run is not None:
                self._put_later(RUNS, run_values(task.id, task.run))
        return added

    async def keyed(self, keys: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], Task]:
        """See `Tx.keyed`."""
        if not keys:
            return {}
        rows = await self._ask(_KEYED, {"keys": list(keys)})
        return {(row.user_name, row.idempotency_key): _task(row) for row in rows}

    async def get_task(self, task_id: TaskId) -> Task:
        """See `Tx.get_task`."""
        for task in _tasks(await self._ask(_ONE, {"task_id": task_id})):
            return task
        raise Absent(f"there is no task {task_id}")

    async def find_task(self, user: str, name: str) -> Task | None:
        """See `Tx.find_task`."""
        named = _TASKS.where(TASKS.c.user_name == user, TASKS.c.name == name).order_by(TASKS.c.id.desc()).limit(1)
        for ended in (false(), true()):
            for task in _tasks(await self._ask(named.where(TASKS.c.ended == ended))):
                return task
        return None

    async def get_spec(self, task_id: TaskId) -> TaskSpec:
        """See `Tx.get_spec`."""
        row = (await self._ask(select(SPECS).where(SPECS.c.task_id == task_id))).first()
        if row is None:
            raise Absent(f"there is no task {task_id}")
        return spec_of(row)

    async def tasks_with_specs(self, task_ids: Collection[TaskId]) -> Mapping[TaskId, tuple[Task, TaskSpec]]:
        """See `Tx.tasks_with_specs`."""
        if not task_ids:
            return {}
        wanted = {"task_ids": list(task_ids)}
        tasks = _tasks(await self._ask(_SOME, wanted))
        specs = {row.task_id: spec_of(row) for row in await self._ask(_SOME_SPECS, wanted)}
        return {task.id: (task, specs[task.id]) for task in tasks}

    async def save_task(self, task: Task) -> Task:
        """See `Tx.save_task`."""
        saved = replace(task, version=task.version + 1)
        self._changed_tasks = True
        row = {**task_values(saved), "version": saved.version, "saved_at": _now()}
        self._change_later(_SAVE, [row | {"_id": task.id, "_version": task.version}])
        if saved.run is not None:
            self._put_later(RUNS, run_values(saved.id, saved.run))
        return saved

    async def flush(self) -> None:
        """Write all rows that are waiting to be written. Raises what `save_task` does."""
        saves = self._later.pop(_SAVE, None)
        if saves and (await self._connection.execute(_SAVE, saves)).rowcount != len(saves):
            await self._refuse(saves)
        await super().flush()

    async def _refuse(self, saves: Sequence[Mapping[str, Any]]) -> None:
        """Raise WriteConflict for the task that was not stored."""
        self._later.clear()
        written = {save["_id"]: save["version"] for save in saves}
        for save in saves:
            stored = await self.get_task(save["_id"])
            if stored.version != written[save["_id"]]:
                raise WriteConflict(f"task {stored.id} is at version {stored.version}, not {save['_version']}")
        raise WriteConflict("a task was changed meanwhile")

    async def unfinished_tasks(self) -> Sequence[Task]:
        """See `Tx.unfinished_tasks`. Only tasks written since this process has last read them are read again."""
        era, head = self._known.era, await self._head()
        before = self._known.up_to(head)
        if before is not None and before.fresh:
            if before.head == head:
                return before.tasks
            news = await self._news(before.head.change)
            if before.leads_to(head, news):
                return self._learn(before.after(head, news), era)
        return self._learn(await self._compared(head), era)

    def _learn(self, known: Known, era: int) -> Sequence[Task]:
        """Cache a state, unless this transaction has written tasks, which are not committed yet. Returns its tasks."""
        if not self._changed_tasks:
            self._known.keep(known, era)
        return known.tasks

    async def _head(self) -> Head:
        row = await self._look()
        stamp = row.version or 0, row.saved_at or 0
        return Head(row.name, row.epoch, row.forgotten, row.change or 0, row.task, stamp)

    async def _news(self, since: int) -> list[Written]:
        """Return the tasks that were written from a number on, in the order of their numbers."""
        rows = await self._ask(_SINCE, {"since": since})
        return [
            Written(row.id, row.change, (row.version, row.saved_at), None if row.ended else _task(row)) for row in rows
        ]

    async def _compared(self, head: Head) -> Known:
        """Compare with the whole database in two queries: all versions, then the tasks whose version is not known."""
        at = time.monotonic()
        rows: Iterable[Any] = await self._ask(_HEADS)
        stamps: dict[TaskId, Stamp] = {number: (version, saved_at) for number, version, saved_at in rows}
        known = self._known.tasks()
        missing = [number for number, stamp in stamps.items() if number not in known or known[number][0] != stamp]
        news = {task.id: task for task in await self._unfinished(missing)}
        tasks = tuple([news.get(number) or known[number][1] for number in stamps])
        return Known(head=head, stamps=stamps, tasks=tasks, compared_at=at)

    async def _unfinished(self, numbers: Sequence[TaskId]) -> Sequence[Task]:
        if not numbers:
            return []
        some = _UNFINISHED.where(TASKS.c.id.in_(numbers)) if len(numbers) <= _FEW else _UNFINISHED
        return _tasks(await self._ask(some))

    async def list_tasks(self, where: TaskFilter, *, before: TaskId | None, limit: int) -> Sequence[Task]:
        """See `Tx.list_tasks`."""
        page = _TASKS.where(*_conditions(where)).order_by(TASKS.c.id.desc()).limit(limit)
        return _tasks(await self._ask(page if before is None else page.where(TASKS.c.id < before)))

    async def count_tasks(self, user: str) -> int:
        """See `Tx.count_tasks`."""
        mine = and_(TASKS.c.user_name == user, TASKS.c.ended == false())
        return int((await self._ask(select(func.count()).select_from(TASKS).where(mine))).scalar_one())

    async def runs(self, task_id: TaskId) -> Sequence[Run]:
        """See `Tx.runs`."""
        found = await self._ask(select(RUNS).where(RUNS.c.task_id == task_id).order_by(RUNS.c.number))
        return [run_of(row) for row in found]

    async def ended_before(self, when: datetime, *, limit: int) -> Sequence[Task]:
        """See `Tx.ended_before`."""
        over = _TASKS.where(TASKS.c.ended == true(), TASKS.c.ended_at < to_instant(when))
        return _tasks(await self._ask(over.order_by(TASKS.c.ended_at, TASKS.c.id).limit(limit)))

    async def delete_task(self, task_id: TaskId) -> None:
        """See `Tx.delete_task`. Raises Absent, and WriteConflict for a task that has not ended."""
        # Its spec and runs are deleted too (ON DELETE CASCADE).
        if (await self._change(delete(TASKS).where(TASKS.c.id == task_id, TASKS.c.ended == true()))).rowcount == 0:
            await self.get_task(task_id)
            raise WriteConflict(f"task {task_id} has not ended")
        await self._put(SETTINGS, {"name": FORGOTTEN, "value": secrets.token_hex(8)})


def _conditions(where: TaskFilter) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if where.user is not None:
        conditions.append(TASKS.c.user_name == where.user)
    if where.states is not None:
        conditions.append(TASKS.c.state.in_([state.value for state in where.states]))
        if not any(state.ended for state in where.states):
            # Lets the index of unfinished tasks be used, instead of a walk through all history.
            conditions.append(TASKS.c.ended == false())
    if where.group is not None:
        conditions.append(TASKS.c.group_name == where.group)
    if where.priority is not None:
        conditions.append(_at_level(where.priority.upper()))
    if where.name is not None:
        conditions.append(func.lower(TASKS.c.name).contains(where.name.lower(), autoescape=True))
    return conditions


def _at_level(name: str) -> ColumnElement[bool]:
    """Return the condition for tasks that ask for a level by name, or for `AUTO`; an unknown name fits no task."""
    if name == "AUTO":
        return TASKS.c.priority.is_(None)
    return TASKS.c.priority.in_([level.value for level in Priority if level.name == name])
