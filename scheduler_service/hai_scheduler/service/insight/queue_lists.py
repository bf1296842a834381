"""The queue in its order, for all readers: who waits, at which place, for what, and until when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

from hai_scheduler.core.explaining.short import ShortWait, short_of
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.model.verdicts import VerdictKind, Verdicts, VerdictSource
from hai_scheduler.ports.clock import Clock
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import Invalid
from hai_scheduler.service.shared.known_names import check_group
from hai_scheduler.service.shared.latest_plan import LatestPlan

#: The most tasks of one page.
MOST: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedTask:
    """A task that waits, as its reader may see it."""

    #: Its number in the list, from which a further page goes on.
    number: int
    task: Task
    #: Whether the reader may see the whole task.
    known: bool
    #: Its place in the queue of its node group; None: it is held.
    position: int | None
    #: The level that counts now (O4, Q4).
    level: Priority
    kind: VerdictKind
    short: ShortWait


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupQueue:
    """The queue of a node group, or a page of it."""

    group: str
    #: How many tasks wait for a turn, and how many are held by their owners.
    waiting: int
    held: int
    items: Sequence[QueuedTask]
    #: The number after which the next page begins; None: this is the last one.
    next: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePage:
    """The queues of node groups, as the latest plan has them."""

    at: datetime | None
    groups: Sequence[GroupQueue]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLists:
    """The use case. Of a long queue only the part that is asked for is sorted and explained."""

    clock: Clock
    latest_plan: LatestPlan

    async def page(
        self, caller: Caller, *, group: str | None = None, after: int = 0, limit: int = MOST, mine: bool = False
    ) -> QueuePage:
        """The queue of a node group, or of all of them.

        Args:
            caller: Who asks. All readers see the numbers, users, sizes and priorities of all tasks that wait, and in a
                few words why; only their own tasks by name (docs/security.md).
            group: The node group; None: the first page of each.
            after: The number of the last task of the page before.
            limit: The most tasks of a group.
            mine: Only the caller's own tasks, with their places among all.

        Raises:
            Invalid: There is no such group, or `after` is given without one.
        """
        if after and group is None:
            raise Invalid("after", after, "is a place in the queue of one node group: give `group` as well")
        await self.latest_plan.asked()
        if group is not None:
            check_group(self.latest_plan, group)
        verdicts = self.latest_plan.verdicts
        sources = verdicts.groups if isinstance(verdicts, Verdicts) else ()
        chosen = sorted((each for each in sources if group in (None, each.group)), key=lambda each: each.group)
        now = self.clock.now()
        pages = [self._group(caller, source, after, limit, now, mine=mine) for source in chosen]
        return QueuePage(
            at=self.latest_plan.last_tick, groups=[page for page in pages if page.items or group is not None]
        )

    def _group(
        self, caller: Caller, source: VerdictSource, after: int, limit: int, now: datetime, *, mine: bool
    ) -> GroupQueue:
        wanted = (each for each in source.in_order(after) if not mine or each[1].user == caller.name)
        found = list(islice(wanted, limit + 1))
        items = [self._item(caller, number, task, now) for number, task in found[:limit]]
        return GroupQueue(
            group=source.group,
            waiting=len(source.ids) - source.held,
            held=source.held,
            items=items,
            next=items[-1].number if len(found) > limit else None,
        )

    def _item(self, caller: Caller, number: int, task: Task, now: datetime) -> QueuedTask:
        verdict = self.latest_plan.verdicts[task.id]
        known = caller.may_see(task.user)
        return QueuedTask(
            number=number,
            task=task,
            known=known,
            position=verdict.position,
            level=verdict.priority,
            kind=verdict.kind,
            short=short_of(task, verdict, now, private=known),
        )
