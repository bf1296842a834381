"""Tags and stars of tasks, in a transaction on a database."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import bindparam, delete, insert, select, update

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.ports.errors import Absent
from hai_scheduler.store.label_tables import STARS, TASK_TAGS
from hai_scheduler.store.small_tables import StoredPart
from hai_scheduler.store.tables import SPECS

_SOME_TAGS = select(SPECS.c.task_id, SPECS.c.tags).where(SPECS.c.task_id.in_(bindparam("task_ids", expanding=True)))
_SOME_STARS = select(STARS.c.task_id).where(
    STARS.c.user_name == bindparam("user"), STARS.c.task_id.in_(bindparam("task_ids", expanding=True))
)


class StoredLabels(StoredPart):
    """The tags of tasks, which all who may see the task share, and the stars, of which each user has their own.

    Both go with their task.
    """

    async def tags(self, task_ids: Collection[TaskId]) -> Mapping[TaskId, tuple[str, ...]]:
        """The tags of those tasks, in the order in which they were given; tasks without tags are left out."""
        if not task_ids:
            return {}
        rows = await self._sql.ask(_SOME_TAGS, {"task_ids": list(task_ids)})
        return {TaskId(row.task_id): tuple(row.tags) for row in rows if row.tags}

    async def put_tags(self, task_id: TaskId, tags: Sequence[str]) -> None:
        """Give the task these tags in place of those that it has. Raises Absent."""
        written = update(SPECS).where(SPECS.c.task_id == task_id).values(tags=list(tags))
        if (await self._sql.change(written)).rowcount == 0:
            raise Absent(f"there is no task {task_id}")
        await self._sql.change(delete(TASK_TAGS).where(TASK_TAGS.c.task_id == task_id))
        self._sql.change_later(insert(TASK_TAGS), tag_rows(task_id, tags))

    async def starred(self, user: str, task_ids: Collection[TaskId]) -> frozenset[TaskId]:
        """Which of those tasks the user has starred."""
        if not task_ids:
            return frozenset()
        rows = await self._sql.ask(_SOME_STARS, {"user": user, "task_ids": list(task_ids)})
        return frozenset(TaskId(row.task_id) for row in rows)

    async def put_star(self, user: str, task_id: TaskId, *, starred: bool) -> None:
        """Star a task for the user, or take the star away. To do it again changes nothing."""
        own = STARS.c.user_name == user, STARS.c.task_id == task_id
        await self._sql.change(delete(STARS).where(*own))
        if starred:
            await self._sql.change(insert(STARS), {"user_name": user, "task_id": task_id})


def tag_rows(task_id: TaskId, tags: Sequence[str]) -> list[dict[str, object]]:
    """Return the rows of a task in `tables.TASK_TAGS`: one for each tag."""
    return [{"task_id": task_id, "tag": tag} for tag in dict.fromkeys(tags)]
