"""Lists of tasks: filtered and in any order by the store, in pages."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from hai_scheduler.core.metrics.use import MeanUse, mean_use_of, mean_use_of_summary
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.task import Task
from hai_scheduler.ports.store import Tx
from hai_scheduler.ports.values import TEXT_KEYS, TaskFilter, TaskKeyValue, TaskSort, sort_value
from hai_scheduler.service.insight.queries import VIEW_BEARABLE, Queries, TaskView, whose
from hai_scheduler.service.metrics.now import RECENT_S
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import Invalid
from hai_scheduler.service.shared.known_names import check_group
from hai_scheduler.service.shared.world import UseCase

#: Tasks that are read at once, before other requests have their turn: some milliseconds.
PIECE: Final = 50
#: The order of lists that ask for none: the newest task first.
NEWEST: Final = TaskSort()

#: Value and id of the last task of a page.
_Place = tuple[TaskKeyValue, TaskId]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskList:
    """A page of tasks; cursor None means that it is the last page."""

    items: Sequence[TaskView]
    cursor: str | None
    #: How many tasks match, on all pages; None: that was not asked for.
    total: int | None = None


@dataclass(slots=True, eq=False)
class TaskLists(UseCase):
    """The use case of lists of tasks."""

    queries: Queries

    async def page(
        self,
        caller: Caller,
        where: TaskFilter,
        *,
        cursor: str | None,
        limit: int,
        sort: TaskSort = NEWEST,
        total: bool = False,
        use: bool = False,
    ) -> TaskList:
        """A page of tasks. Raises Forbidden and Invalid.

        Args:
            caller: Who asks.
            where: Which tasks; user None is the caller.
            cursor: That of the page before; None: the first page.
            limit: How many tasks at most.
            sort: Their order.
            total: Whether all that match are counted.
            use: Whether it is told what their latest runs used.
        """
        where = replace(where, user=whose(caller, where.user))
        after = None if cursor is None else place_of(cursor, sort)
        await self.latest_plan.asked(VIEW_BEARABLE)
        async with self.store.read() as tx:
            found = await _in_pieces(tx, where, sort, after=after, limit=limit + 1)
            page = found[:limit]
            ids = [task.id for task in page]
            progress, tags = await tx.progress.of(ids), await tx.labels.tags(ids)
            starred = await tx.labels.starred(caller.name, ids)
            count = await tx.tasks.count(where) if total else None
            if not found and after is None:
                await self._check_filter(tx, caller, where)
        uses = await self._uses(page) if use else {}
        views = [
            replace(
                self.queries.view(task, progress.get(task.id)),
                tags=tags.get(task.id, ()),
                starred=task.id in starred,
                use=uses.get(task.id),
            )
            for task in page
        ]
        more = len(found) > limit and page
        return TaskList(items=views, cursor=cursor_of(page[-1], sort) if more else None, total=count)

    async def _check_filter(self, tx: Tx, caller: Caller, where: TaskFilter) -> None:
        """Raise Invalid if the list is empty because a name in the filter is unknown."""
        user = where.user
        if user not in (None, caller.name) and user not in {known.name for known in await tx.users.all()}:
            raise Invalid("user", user, f"no user {user!r} has used HAI yet: check the spelling")
        if where.group is not None:
            check_group(self.latest_plan, where.group)

    async def _uses(self, tasks: Sequence[Task]) -> Mapping[TaskId, MeanUse]:
        """What the latest runs of the tasks used: of live runs their newest points, of others their summary."""
        live = [run.id for task in tasks if (run := task.live_run) is not None]
        since = int(self.clock.now().timestamp()) - RECENT_S
        points = await self.store.series.newest(live, since=since) if live else {}
        found: dict[TaskId, MeanUse] = {}
        for task in tasks:
            run = task.run
            if run is None:
                continue
            if run.live and (ranks := points.get(run.id)):
                found[task.id] = mean_use_of(ranks.values())
            elif not run.live and run.summary is not None:
                found[task.id] = mean_use_of_summary(run.summary)
        return found


def cursor_of(task: Task, sort: TaskSort) -> str:
    """Return the cursor of the page after this task."""
    if sort == NEWEST:
        return str(task.id)
    place = json.dumps([sort.key.value, sort.falling, sort_value(task, sort.key), task.id], ensure_ascii=False)
    return "~" + base64.urlsafe_b64encode(place.encode("utf-8", "surrogatepass")).decode("ascii").rstrip("=")


def place_of(cursor: str, sort: TaskSort) -> _Place:
    """Return the place that a cursor names. Raises Invalid for one that no page of this order has had."""
    wrong = Invalid("cursor", cursor, "is not a cursor of this list: use `next_cursor` of the page before, unchanged")
    if sort == NEWEST:
        if not (cursor.isascii() and cursor.isdigit() and len(cursor) <= 18):
            raise wrong
        return int(cursor), TaskId(int(cursor))
    try:
        text = base64.urlsafe_b64decode(cursor.removeprefix("~") + "=" * (-len(cursor[1:]) % 4))
        key, falling, value, number = json.loads(text.decode("utf-8", "surrogatepass"))
    except (binascii.Error, ValueError, TypeError, RecursionError):
        raise wrong from None
    kind = str if sort.key in TEXT_KEYS else int
    if (key, falling) != (sort.key.value, sort.falling) or type(value) is not kind or type(number) is not int:
        raise wrong
    if "\0" in str(value) or not (0 <= number < 2**63 and (isinstance(value, str) or abs(value) < 2**63)):
        raise wrong
    return value, TaskId(number)


async def _in_pieces(tx: Tx, where: TaskFilter, sort: TaskSort, *, after: _Place | None, limit: int) -> Sequence[Task]:
    """A page, read in pieces so that other requests have their turn in between."""
    if sort != NEWEST:
        # An order that no index has is found for the whole page at once.
        return await tx.tasks.sorted_page(where, sort, after=after, limit=limit)
    found: list[Task] = []
    before = None if after is None else after[1]
    while len(found) < limit:
        part = await tx.tasks.page(where, before=before, limit=min(PIECE, limit - len(found)))
        found += part
        if len(part) < PIECE:
            break
        before = part[-1].id
    return found
