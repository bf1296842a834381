"""What users write on tasks to find them again: tags, which all who see the task share, and their own stars."""

from __future__ import annotations

from collections.abc import Sequence

from hai_scheduler.core.model.admin_actions import AdminAction
from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.model.task import Task
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.service.shared.auditing import audit_task
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.lookup import check_tags, find
from hai_scheduler.service.shared.topics import FEED
from hai_scheduler.service.shared.world import UseCase


class Labels(UseCase):
    """The use cases of tags and stars. No decision depends on them, so the scheduling loop is not woken."""

    async def put_tags(self, caller: Caller, ref: str, tags: Sequence[str]) -> Task:
        """Give a task these tags, each once, in place of those that it has. Raises NotFound, Invalid."""
        check_tags(tags)
        wanted = tuple(dict.fromkeys(tags))
        async with self.store.write() as tx:
            task = await find(tx, caller, ref)
            had = (await tx.labels.tags([task.id])).get(task.id, ())
            if had == wanted:
                return task
            await tx.labels.put_tags(task.id, wanted)
            was, is_ = {"tags": list(had)}, {"tags": list(wanted)}
            await audit_task(tx, caller, AdminAction.TASK_TAGS, task, at=self.clock.now(), before=was, after=is_)
            await tx.events.add(
                HistoryEvent(
                    at=self.clock.now(),
                    kind=EventKind.TASK_TAGS,
                    actor=caller.name,
                    user=task.user,
                    task_id=task.id,
                    data={"tags": list(wanted)},
                )
            )
        await self.bus.ring(FEED)
        return task

    async def put_star(self, caller: Caller, ref: str, *, starred: bool) -> Task:
        """Star a task for the caller alone, or take the star away. Raises NotFound."""
        async with self.store.write() as tx:
            task = await find(tx, caller, ref)
            await tx.labels.put_star(caller.name, task.id, starred=starred)
        return task
