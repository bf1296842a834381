"""Reads the unfinished tasks, of which most are cached (`known.py`)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import bindparam, false, select

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.task import Task
from hai_scheduler.store.known import Head, Known, KnownTasks, Stamp, Written
from hai_scheduler.store.rows import TASKS_WITH_RUNS, task_with_run, tasks_with_runs
from hai_scheduler.store.statements import Statements
from hai_scheduler.store.tables import TASKS

_UNFINISHED = TASKS_WITH_RUNS.where(TASKS.c.ended == false()).order_by(TASKS.c.id)
_HEADS = select(TASKS.c.id, TASKS.c.version, TASKS.c.saved_at).where(TASKS.c.ended == false()).order_by(TASKS.c.id)
_SINCE = TASKS_WITH_RUNS.where(TASKS.c.change >= bindparam("since")).order_by(TASKS.c.change)
#: More tasks than this are read with a query for all unfinished tasks, not by their ids.
_FEW = 500


class UnfinishedTasks:
    """The unfinished tasks as one transaction sees them; what is cached of them was committed when it was read."""

    def __init__(self, statements: Statements, known: KnownTasks) -> None:
        self._sql = statements
        self._known = known

    async def read(self, *, keep: bool) -> Sequence[Task]:
        """Return the unfinished tasks in the order of their ids.

        Args:
            keep: Whether they may be cached: False once the transaction has written tasks, which are not committed yet.
        """
        era, head = self._known.era, await self._head()
        before = self._known.up_to(head)
        known = None
        if before is not None and before.fresh:
            if before.head == head:
                return before.tasks
            known = await self._after(before, head)
        if known is None:
            known = await self._compared(head)
        if keep:
            self._known.keep(known, era)
        return known.tasks

    async def _head(self) -> Head:
        row = await self._sql.summary()
        stamp = row.version or 0, row.saved_at or 0
        return Head(row.name, row.epoch, row.forgotten, row.change or 0, row.task, stamp)

    async def _after(self, before: Known, head: Head) -> Known | None:
        """Return the state after an earlier one; None if the view is no later state of that one."""
        news = await self._news(before.head.change)
        return before.after(head, news) if before.leads_to(head, news) else None

    async def _news(self, since: int) -> list[Written]:
        """Return the tasks that were written from a number on, in the order of their numbers."""
        rows = await self._sql.ask(_SINCE, {"since": since})
        return [
            Written(row.id, row.change, (row.version, row.saved_at), None if row.ended else task_with_run(row))
            for row in rows
        ]

    async def _compared(self, head: Head) -> Known:
        """Compare with the whole database in two queries: all versions, then the tasks whose version is not known."""
        at = time.monotonic()
        rows: Iterable[Any] = await self._sql.ask(_HEADS)
        stamps: dict[TaskId, Stamp] = {number: (version, saved_at) for number, version, saved_at in rows}
        known = self._known.tasks()
        missing = [number for number, stamp in stamps.items() if number not in known or known[number][0] != stamp]
        news = {task.id: task for task in await self._some(missing)}
        tasks = tuple([news.get(number) or known[number][1] for number in stamps])
        return Known(head=head, stamps=stamps, tasks=tasks, compared_at=at)

    async def _some(self, numbers: Sequence[TaskId]) -> Sequence[Task]:
        if not numbers:
            return []
        some = _UNFINISHED.where(TASKS.c.id.in_(numbers)) if len(numbers) <= _FEW else _UNFINISHED
        return tasks_with_runs(await self._sql.ask(some))
