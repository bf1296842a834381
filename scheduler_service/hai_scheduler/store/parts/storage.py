"""How much each user keeps, in a transaction on a database."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Integer, cast, func, or_, select, true

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.ports.values import UserStorage
from hai_scheduler.store.small_tables import StoredPart
from hai_scheduler.store.tables import TASKS


class StoredAmounts(StoredPart):
    """The sizes of tasks, summed up for each user. They follow from the tasks; nothing is written here."""

    async def of_user(self, user: str) -> UserStorage:
        """The amounts that are kept of the user's tasks."""
        sums = select(TASKS.c.ended, func.count(), func.sum(TASKS.c.size)).where(TASKS.c.user_name == user)
        rows: Iterable[Any] = await self._sql.ask(sums.group_by(TASKS.c.ended))
        found = {bool(ended): (int(count), int(size)) for ended, count, size in rows}
        tasks, size = found.get(True, (0, 0))
        return UserStorage(unfinished_bytes=found.get(False, (0, 0))[1], ended_bytes=size, ended_tasks=tasks)

    async def users_beyond(self, *, ended_tasks: int, size: int) -> Sequence[str]:
        """Users with more than `ended_tasks` ended tasks, or tasks of more than `size` bytes in all; sorted by name."""
        over = or_(func.sum(cast(TASKS.c.ended, Integer)) > ended_tasks, func.sum(TASKS.c.size) > size)
        name = TASKS.c.user_name
        return list((await self._sql.ask(select(name).group_by(name).having(over).order_by(name))).scalars())

    async def ended_of(self, user: str, *, limit: int) -> Sequence[tuple[TaskId, int]]:
        """At most `limit` ended tasks of the user with their sizes in bytes; the one that ended first comes first."""
        over = select(TASKS.c.id, TASKS.c.size).where(TASKS.c.user_name == user, TASKS.c.ended == true())
        found: Iterable[Any] = await self._sql.ask(over.order_by(TASKS.c.ended_at, TASKS.c.id).limit(limit))
        return [(TaskId(number), int(size)) for number, size in found]
