"""Tasks in a transaction on a database."""

from __future__ import annotations

import secrets
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain
from typing import Any

from sqlalchemy import (
    and_,
    bindparam,
    delete,
    false,
    func,
    insert,
    or_,
    select,
    true,
    tuple_,
    update,
)

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.pins import Pin, used_pin
from hai_scheduler.core.model.sizes import size_of
from hai_scheduler.core.model.task import Task, TaskSpec
from hai_scheduler.ports.errors import Absent, WriteConflict
from hai_scheduler.ports.values import NewTask, TaskFilter, TaskKeyValue, TaskSort
from hai_scheduler.store.codec import fields_codec, to_instant
from hai_scheduler.store.known import KnownTasks
from hai_scheduler.store.label_tables import TASK_TAGS
from hai_scheduler.store.parts.labels import tag_rows
from hai_scheduler.store.rows import RUN, SPEC, TASKS_WITH_RUNS, task_values, task_with_run, tasks_with_runs
from hai_scheduler.store.small_tables import SmallTables, StoredPart
from hai_scheduler.store.statements import FORGOTTEN, Statements
from hai_scheduler.store.tables import RUNS, SETTINGS, SPECS, TASKS
from hai_scheduler.store.task_filters import conditions_of, key_of
from hai_scheduler.store.unfinished import UnfinishedTasks

_ONE = TASKS_WITH_RUNS.where(TASKS.c.id == bindparam("task_id"))
_SOME = TASKS_WITH_RUNS.where(TASKS.c.id.in_(bindparam("task_ids", expanding=True)))
_SOME_SPECS = select(SPECS).where(SPECS.c.task_id.in_(bindparam("task_ids", expanding=True)))
_PINNED = (
    select(
        TASKS.c.id,
        TASKS.c.user_name,
        SPECS.c.haienv.label("chosen"),
        RUNS.c.number,
        RUNS.c.haienv.label("started"),
        RUNS.c.ended_at.label("over"),
    )
    .select_from(
        TASKS.join(SPECS, SPECS.c.task_id == TASKS.c.id).outerjoin(
            RUNS, and_(RUNS.c.task_id == TASKS.c.id, RUNS.c.number == TASKS.c.run_number)
        )
    )
    .where(TASKS.c.ended == false(), SPECS.c.haienv.is_not(None))
    .order_by(TASKS.c.id)
)
_SNAPSHOTS = (
    select(TASKS.c.user_name, SPECS.c.snapshot)
    .select_from(TASKS.join(SPECS, SPECS.c.task_id == TASKS.c.id))
    .where(TASKS.c.ended == false(), SPECS.c.snapshot.is_not(None))
)
_PIN = fields_codec(Pin)
_ANY = TASKS.alias("newest")
#: The number of the next write: writers are serialised, so that numbers grow in the order of commits.
_NEXT = select(func.coalesce(func.max(_ANY.c.change), 0) + 1).scalar_subquery()
_SAVE = (
    update(TASKS).where(TASKS.c.id == bindparam("_id"), TASKS.c.version == bindparam("_version")).values(change=_NEXT)
)
_ADD = insert(TASKS).returning(TASKS.c.id, sort_by_parameter_order=True)
_ADD_SPECS = insert(SPECS)
_ADD_TAGS = insert(TASK_TAGS)
_KEYED = TASKS_WITH_RUNS.where(
    tuple_(TASKS.c.user_name, TASKS.c.idempotency_key).in_(bindparam("keys", expanding=True)),
)


def _now() -> int:
    return time.time_ns() // 1000


class StoredTasks(StoredPart):
    """The tasks, each with its specification and its latest run.

    A task is written whole and only over the version that was read: of two writers of one version, the second fails.
    """

    def __init__(self, statements: Statements, tables: SmallTables, known: KnownTasks) -> None:
        super().__init__(statements, tables)
        self._unfinished = UnfinishedTasks(statements, known)
        #: Whether this transaction has written tasks, so that it may read tasks that are not committed.
        self._changed = False

    async def add(self, task: Task, spec: TaskSpec, *, idempotency_key: str | None = None) -> Task:
        """Store a new task under a new id (`task.id` is ignored); ids grow.

        If the same user has used the idempotency key before, nothing is stored.

        Returns:
            The stored task with its id, or the earlier task with the same key.
        """
        if idempotency_key is not None:
            # No other writer can add the key in between: writers are serialised.
            for earlier in (await self.keyed([(task.user, idempotency_key)])).values():
                return earlier
        (added,) = await self.add_all([NewTask(task=task, spec=spec, idempotency_key=idempotency_key)])
        return added

    async def add_all(self, new: Sequence[NewTask]) -> Sequence[Task]:
        """Store all these tasks, faster than with one `add` after the other.

        The caller makes sure that no two of the tasks have the same user and key, and that `keyed` finds no key.
        """
        if not new:
            return []
        # The number of the next write: writers are serialised, so that numbers grow in the order of commits.
        number, now = ((await self._sql.summary()).change or 0) + 1, _now()
        self._changed = True
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
        ids = (await self._sql.change(_ADD, rows)).scalars()
        added = [replace(each.task, id=TaskId(given), version=1) for given, each in zip(ids, new, strict=True)]
        specs = [SPEC.values(each.spec, task_id=task.id) for task, each in zip(added, new, strict=True)]
        self._sql.change_later(_ADD_SPECS, specs)
        tags = (tag_rows(task.id, each.spec.tags) for task, each in zip(added, new, strict=True))
        self._sql.change_later(_ADD_TAGS, chain.from_iterable(tags))
        for task in added:
            if task.run is not None:
                self._sql.put(RUNS, RUN.values(task.run, task_id=task.id))
        return added

    async def keyed(self, keys: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], Task]:
        """The tasks that were stored with those idempotency keys, by (user, key); unused keys are left out."""
        if not keys:
            return {}
        rows = await self._sql.ask(_KEYED, {"keys": list(keys)})
        return {(row.user_name, row.idempotency_key): task_with_run(row) for row in rows}

    async def get(self, task_id: TaskId) -> Task:
        """The task with its latest run. Raises Absent."""
        for task in tasks_with_runs(await self._sql.ask(_ONE, {"task_id": task_id})):
            return task
        raise Absent(f"there is no task {task_id}")

    async def find(self, user: str, name: str) -> Task | None:
        """The user's latest task of that name; an unfinished one if there is any. None: no task has the name."""
        named = (
            TASKS_WITH_RUNS.where(TASKS.c.user_name == user, TASKS.c.name == name).order_by(TASKS.c.id.desc()).limit(1)
        )
        for ended in (false(), true()):
            for task in tasks_with_runs(await self._sql.ask(named.where(TASKS.c.ended == ended))):
                return task
        return None

    async def get_spec(self, task_id: TaskId) -> TaskSpec:
        """The specification of the task: what it executes. Raises Absent."""
        row = (await self._sql.ask(select(SPECS).where(SPECS.c.task_id == task_id))).first()
        if row is None:
            raise Absent(f"there is no task {task_id}")
        return SPEC.of(row)

    async def with_specs(self, task_ids: Collection[TaskId]) -> Mapping[TaskId, tuple[Task, TaskSpec]]:
        """Each task with its specification, faster than with `get` and `get_spec`; unknown ids are left out."""
        if not task_ids:
            return {}
        wanted = {"task_ids": list(task_ids)}
        tasks = tasks_with_runs(await self._sql.ask(_SOME, wanted))
        specs = {row.task_id: SPEC.of(row) for row in await self._sql.ask(_SOME_SPECS, wanted)}
        return {task.id: (task, specs[task.id]) for task in tasks}

    async def save(self, task: Task) -> Task:
        """Write the task and its latest run.

        Returns:
            The task with the next version.

        Raises:
            WriteConflict: The stored version is not `task.version`; raised at the end of the transaction at the
                latest, as the writes of one transaction go to the database together.
            Absent: There is no such task; raised at the same time.
        """
        saved = replace(task, version=task.version + 1)
        self._changed = True
        row = {**task_values(saved), "version": saved.version, "saved_at": _now()}
        self._sql.change_later(_SAVE, [row | {"_id": task.id, "_version": task.version}], refuse=self._refuse)
        if saved.run is not None:
            self._sql.put(RUNS, RUN.values(saved.run, task_id=saved.id))
        return saved

    async def _refuse(self, saves: Sequence[Mapping[str, Any]]) -> None:
        """Raise WriteConflict for the task that was not stored."""
        written = {save["_id"]: save["version"] for save in saves}
        for save in saves:
            stored = await self.get(save["_id"])
            if stored.version != written[save["_id"]]:
                raise WriteConflict(f"task {stored.id} is at version {stored.version}, not {save['_version']}")
        raise WriteConflict("a task was changed meanwhile")

    async def unfinished(self) -> Sequence[Task]:
        """All tasks that have not ended, in the order of their ids.

        Only tasks written since this process has last read them are read again.
        """
        return await self._unfinished.read(keep=not self._changed)

    async def pinned(self) -> Mapping[TaskId, tuple[str, Pin]]:
        """The user, and the generation of an environment that must be kept, of each unfinished task that needs one."""
        found = {}
        for row in await self._sql.ask(_PINNED):
            started = None if row.started is None else _PIN.read(row.started)
            pin = used_pin(_PIN.read(row.chosen), started, live=row.number is not None and row.over is None)
            if pin is not None:
                found[TaskId(row.id)] = row.user_name, pin
        return found

    async def snapshots(self) -> Mapping[str, frozenset[str]]:
        """The digests of the snapshots of code that unfinished tasks have, by user."""
        found: dict[str, set[str]] = {}
        for row in await self._sql.ask(_SNAPSHOTS):
            found.setdefault(row.user_name, set()).add(row.snapshot["digest"])
        return {user: frozenset(digests) for user, digests in found.items()}

    async def page(self, where: TaskFilter, *, before: TaskId | None, limit: int) -> Sequence[Task]:
        """At most `limit` matching tasks with ids smaller than `before` (None: any), newest first."""
        page = TASKS_WITH_RUNS.where(*conditions_of(where)).order_by(TASKS.c.id.desc()).limit(limit)
        return tasks_with_runs(await self._sql.ask(page if before is None else page.where(TASKS.c.id < before)))

    async def sorted_page(
        self, where: TaskFilter, sort: TaskSort, *, after: tuple[TaskKeyValue, TaskId] | None, limit: int
    ) -> Sequence[Task]:
        """At most `limit` matching tasks in that order. The ids are found first: whole tasks are wide.

        Args:
            where: Which tasks.
            sort: Their order. Texts are in the order of their characters' numbers.
            after: Value and id of the last task of the page before (`sort_value`); None: from the first on.
            limit: How many at most.
        """
        value = key_of(sort.key, self._sql.dialect)
        ids = select(TASKS.c.id).where(*conditions_of(where))
        if after is not None:
            last, number = after
            further = value < last if sort.falling else value > last
            below = TASKS.c.id < number if sort.falling else TASKS.c.id > number
            ids = ids.where(or_(further, and_(value == last, below)))
        order = (value.desc(), TASKS.c.id.desc()) if sort.falling else (value, TASKS.c.id)
        found = [TaskId(row.id) for row in await self._sql.ask(ids.order_by(*order).limit(limit))]
        if not found:
            return []
        tasks = {task.id: task for task in tasks_with_runs(await self._sql.ask(_SOME, {"task_ids": found}))}
        return [tasks[task_id] for task_id in found]

    async def count(self, where: TaskFilter) -> int:
        """How many tasks match."""
        return int(
            (await self._sql.ask(select(func.count()).select_from(TASKS).where(*conditions_of(where)))).scalar_one()
        )

    async def count_unfinished(self, user: str) -> int:
        """The number of unfinished tasks of the user."""
        mine = and_(TASKS.c.user_name == user, TASKS.c.ended == false())
        return int((await self._sql.ask(select(func.count()).select_from(TASKS).where(mine))).scalar_one())

    async def ended_before(self, when: datetime, *, limit: int) -> Sequence[Task]:
        """At most `limit` tasks that ended before `when`, oldest first."""
        over = TASKS_WITH_RUNS.where(TASKS.c.ended == true(), TASKS.c.ended_at < to_instant(when))
        return tasks_with_runs(await self._sql.ask(over.order_by(TASKS.c.ended_at, TASKS.c.id).limit(limit)))

    async def delete(self, task_id: TaskId) -> None:
        """Delete an ended task with its specification and runs, not its events.

        Raises:
            WriteConflict: The task has not ended.
            Absent: There is no such task.
        """
        # Its spec and runs are deleted too (ON DELETE CASCADE).
        if (await self._sql.change(delete(TASKS).where(TASKS.c.id == task_id, TASKS.c.ended == true()))).rowcount == 0:
            await self.get(task_id)
            raise WriteConflict(f"task {task_id} has not ended")
        self._sql.put(SETTINGS, {"name": FORGOTTEN, "value": secrets.token_hex(8)})
