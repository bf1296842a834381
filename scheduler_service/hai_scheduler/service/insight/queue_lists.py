"""The queue in its order, for all readers: who waits, at which place, for what, and until when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Final

from hai_scheduler.core.explaining.short import ShortWait, short_of
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.model.verdicts import VerdictKind, Verdicts, VerdictSource
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import Invalid
from hai_scheduler.service.shared.known_names import check_group
from hai_scheduler.service.shared.world import UseCase

#: The most tasks of one page.
MOST: Final = 200
#: How long readers share what was made of one plan, seconds.
SHARED_S: Final = 2.0


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
    #: When it was looked at.
    at: datetime
    #: The bytes that are sent, by language: made once for all readers.
    made: dict[str, bytes] = field(default_factory=dict, compare=False, repr=False)


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


@dataclass(slots=True)
class _Shared:
    """What all readers of one plan share, for `SHARED_S` at most: times pass that are told."""

    #: The verdicts of the plan.
    of: object = None
    #: Until when, by `Clock.steady`.
    until: float = 0.0
    #: The first tasks behind a number of a group's queue, and one more than a page has.
    orders: dict[tuple[str, int], list[tuple[int, Task]]] = field(default_factory=dict)
    #: What is told of a task: to those who may see it, and to all others.
    items: dict[tuple[TaskId, bool], QueuedTask] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class QueueLists(UseCase):
    """The use case. Of a long queue only the part that is asked for is sorted and explained, once for all readers."""

    _shared: _Shared = field(default_factory=_Shared, init=False)

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
        if self._shared.of is not verdicts or self.clock.steady() >= self._shared.until:
            self._shared.of, self._shared.until = verdicts, self.clock.steady() + SHARED_S
            self._shared.orders, self._shared.items = {}, {}
        now = self.clock.now()
        pages = [self._group(caller, source, after, limit, now, mine=mine) for source in chosen]
        return QueuePage(
            at=self.latest_plan.last_tick, groups=[page for page in pages if page.items or group is not None]
        )

    def _group(
        self, caller: Caller, source: VerdictSource, after: int, limit: int, now: datetime, *, mine: bool
    ) -> GroupQueue:
        if mine:
            found = list(islice((each for each in source.in_order(after) if each[1].user == caller.name), limit + 1))
        else:
            first = self._shared.orders.get((source.group, after))
            if first is None:
                first = list(islice(source.in_order(after), MOST + 1))
                self._shared.orders[source.group, after] = first
            found = first[: limit + 1]
        items = [self._item(caller, number, task, now) for number, task in found[:limit]]
        return GroupQueue(
            group=source.group,
            waiting=len(source.ids) - source.held,
            held=source.held,
            items=items,
            next=items[-1].number if len(found) > limit else None,
        )

    def _item(self, caller: Caller, number: int, task: Task, now: datetime) -> QueuedTask:
        known = caller.may_see(task.user)
        item = self._shared.items.get((task.id, known))
        if item is None:
            item = self._shared.items[task.id, known] = self._made(number, task, now, known=known)
        return item

    def _made(self, number: int, task: Task, now: datetime, *, known: bool) -> QueuedTask:
        verdict = self.latest_plan.verdicts[task.id]
        return QueuedTask(
            number=number,
            task=task,
            known=known,
            position=verdict.position,
            level=verdict.priority,
            kind=verdict.kind,
            short=short_of(task, verdict, now, private=known),
            at=now,
        )
