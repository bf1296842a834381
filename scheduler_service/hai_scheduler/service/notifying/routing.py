"""Routes what was written with the changes of tasks: adds the last lines of failed tasks, and writes deliveries."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from hai_scheduler.core.notifying.occurrences import may_be_build, routed
from hai_scheduler.core.notifying.values import Notification, NotificationKind, bounded, deliveries_of
from hai_scheduler.core.workspace import builds
from hai_scheduler.ports.errors import Absent, Temporary
from hai_scheduler.ports.store import Tx
from hai_scheduler.service.logs.failures import Failures
from hai_scheduler.service.shared.outbox import rules_for
from hai_scheduler.service.shared.world import UseCase

log = logging.getLogger(__name__)

#: Notifications that are routed in one transaction.
BATCH: Final = 200
#: Failed tasks of a batch whose logs are read, and seconds that all of them may take: the others are told without.
MOST_LOGS: Final = 20
LOGS_S: Final = 2.0


@dataclass(slots=True, eq=False)
class Routing(UseCase):
    """The first step of the outbox: each notification gets its lines and its deliveries, once."""

    failures: Failures

    async def route(self) -> int:
        """Route what has been written; returns how many notifications, at most `BATCH`.

        Raises:
            Temporary: The store cannot be read or written now.
        """
        async with self.store.read() as tx:
            found = await tx.notifications.unrouted(BATCH)
        if not found:
            return 0
        lines = await self._last_lines(found)
        async with self.store.write() as tx:
            now = self.clock.now()
            # Another loop may have routed some of them meanwhile.
            for one in await tx.notifications.unrouted(BATCH):
                settled = replace(await _settled(tx, one), routed=True, lines=lines.get(one.id, ()))
                await tx.notifications.route(settled, deliveries_of(settled, now))
        return len(found)

    async def _last_lines(self, notifications: Sequence[Notification]) -> Mapping[int, tuple[str, ...]]:
        """The last lines of failed tasks, by notification, as far as they can be read in time."""
        failed = [one for one in notifications if one.kind is NotificationKind.FAILED][:MOST_LOGS]
        found: dict[int, tuple[str, ...]] = {}
        if failed:
            try:
                async with asyncio.timeout(LOGS_S), asyncio.TaskGroup() as readers:
                    for one in failed:
                        readers.create_task(self._read(one, found))
            except TimeoutError:
                log.info("some logs of failed tasks took too long: their owners are told without last lines")
        return found

    async def _read(self, notification: Notification, found: dict[int, tuple[str, ...]]) -> None:
        if notification.task_id is None:
            return
        try:
            async with self.store.read() as tx:
                runs = await tx.runs.of_task(notification.task_id)
            failure = await self.failures.of(runs)
        except (Absent, Temporary):
            return
        except Exception:  # a log that cannot be read must not keep the notification back
            log.exception("the last lines of task %s could not be read", notification.task_id)
            return
        if failure is not None:
            found[notification.id] = bounded(failure.words.lines)


async def _settled(tx: Tx, notification: Notification) -> Notification:
    """The notification as what it is, if its task may be a build of an environment."""
    name = str(notification.params.get("name", ""))
    if notification.sentence != "task.succeeded" or notification.task_id is None or not may_be_build(name):
        return notification
    rules = await rules_for(tx, notification.user)
    try:
        spec = await tx.tasks.get_spec(notification.task_id)
    except Absent:
        return routed(notification, None, rules)
    build = builds.of_task(spec.env, spec.command)
    return routed(notification, None if build is None else build.environment, rules)
