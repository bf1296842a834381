"""How much each user has stored, and what is deleted of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Integer, cast, delete, func, or_, select, true

from hai_scheduler.adapters.sql.base import TxPart
from hai_scheduler.adapters.sql.tables import EVENTS, TASKS
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.ports.bounds import Stored


class BoundPart(TxPart):
    """The part of a transaction that deals with the amount of stored data."""

    async def stored(self, user: str) -> Stored:
        """See `BoundTx.stored`."""
        sums = select(TASKS.c.ended, func.count(), func.sum(TASKS.c.size)).where(TASKS.c.user_name == user)
        rows: Iterable[Any] = await self._ask(sums.group_by(TASKS.c.ended))
        found = {bool(ended): (int(count), int(size)) for ended, count, size in rows}
        tasks, size = found.get(True, (0, 0))
        return Stored(unfinished_bytes=found.get(False, (0, 0))[1], ended_bytes=size, ended_tasks=tasks)

    async def users_beyond(self, *, ended_tasks: int, size: int) -> Sequence[str]:
        """See `BoundTx.users_beyond`."""
        over = or_(func.sum(cast(TASKS.c.ended, Integer)) > ended_tasks, func.sum(TASKS.c.size) > size)
        name = TASKS.c.user_name
        return list((await self._ask(select(name).group_by(name).having(over).order_by(name))).scalars())

    async def ended_of(self, user: str, *, limit: int) -> Sequence[tuple[TaskId, int]]:
        """See `BoundTx.ended_of`."""
        over = select(TASKS.c.id, TASKS.c.size).where(TASKS.c.user_name == user, TASKS.c.ended == true())
        found: Iterable[Any] = await self._ask(over.order_by(TASKS.c.ended_at, TASKS.c.id).limit(limit))
        return [(TaskId(number), int(size)) for number, size in found]

    async def delete_events(self, task_id: TaskId) -> None:
        """See `BoundTx.delete_events`."""
        await self._change(delete(EVENTS).where(EVENTS.c.task_id == task_id))

    async def trim_events(self, keep: int) -> int:
        """See `BoundTx.trim_events`."""
        task, seq = EVENTS.c.task_id, EVENTS.c.seq
        many = select(task, func.min(seq)).where(task.is_not(None)).group_by(task).having(func.count() > keep)
        trimmed = 0
        rows: Iterable[Any] = await self._ask(many)
        for number, first in list(rows):
            latest = select(seq).where(task == number).order_by(seq.desc()).offset(keep - 1).limit(1)
            cut = (await self._ask(latest)).scalar_one()
            trimmed += (await self._change(delete(EVENTS).where(task == number, seq <= cut, seq != first))).rowcount
        return trimmed
