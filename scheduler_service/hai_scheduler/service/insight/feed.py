"""The feed: events of the store as they come, read once for all followers, resumable from any seq."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Final

from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.service.insight.queries import sees_quota_of, whose
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.news import PAGE, News
from hai_scheduler.service.shared.world import UseCase

#: Kinds of events without an owner that all users get: `GET /nodes`, `/cluster` and `/policy` show all users the same.
#: Other kinds without an owner are for admins.
FOR_EVERYBODY: Final = frozenset(
    {
        EventKind.NODE_MARK,
        EventKind.NODE_CONDITION,
        EventKind.CLUSTER_PAUSED,
        EventKind.CLUSTER_RESUMED,
        EventKind.POLICY_CHANGED,
    }
)
#: Kinds of events about a row of quota: for users for whom the row can count.
OF_QUOTA: Final = frozenset({EventKind.QUOTA_PUT, EventKind.QUOTA_DELETED})

#: Kinds of events about the budget of a user group: for its members.
OF_BUDGET: Final = frozenset({EventKind.BUDGET_PUT, EventKind.BUDGET_DELETED, EventKind.BUDGET_STANDING})


@dataclass(slots=True, eq=False)
class Feed(UseCase):
    """Events of a user and of the cluster, in order, each once.

    Reasons for waiting (`task.verdict`) are left out: there are many of them, the task has not changed, and every
    panel would read everything again for each. They are in the task's own history.
    """

    news: News

    async def begin(self, after: int | None) -> int:
        """The seq after which a reader starts.

        Args:
            after: The last seq that the reader has seen; None: only new events. A seq from the future, as after a
                restored backup, counts as now.
        """
        async with self.store.read() as tx:
            last = await tx.events.last_seq()
        return last if after is None else min(after, last)

    async def follow(
        self, caller: Caller, *, after: int, user: str | None = None
    ) -> AsyncGenerator[HistoryEvent | None, None]:
        """Events with a seq greater than `after`, without an end; None when a look has found no new event.

        `user` is as in `Queries.tasks`. Raises Forbidden at the first step.
        """
        only = whose(caller, user)
        async with self.news.read() as paper:
            while True:
                behind = not paper.holds(after)
                page, last = await self._page(after, only) if behind else (paper.later(after), after)
                for event in page:
                    after = event.seq
                    if event.kind != EventKind.TASK_VERDICT and _concerns(event, only) and may_see(caller, event):
                        yield event
                after = max(after, last)
                if (behind and paper.begun and not paper.holds(after)) or paper.later(after):
                    continue
                yield None
                # More events may have come while the reader handled this one.
                if not paper.later(after):
                    await paper.more(self.news.look_every)

    async def _page(self, after: int, only: str | None) -> tuple[Sequence[HistoryEvent], int]:
        """A page of events from the store after `after`, and the seq up to which there are no others."""
        async with self.store.read() as tx:
            page = await tx.events.page(after=after, limit=PAGE, user=only)
            return page, after if len(page) == PAGE else await tx.events.last_seq()


def _concerns(event: HistoryEvent, only: str | None) -> bool:
    """True if the event is about that user (None: any user) or about the cluster."""
    return only is None or event.user is None or event.user == only


def may_see(caller: Caller, event: HistoryEvent) -> bool:
    """True if the caller may see the event.

    Admins may see all but the notifications of others. Other users see events of their own tasks, the listed events of
    the cluster, and changes of quota and budgets that can count for them.
    """
    if event.kind == EventKind.NOTIFICATION:
        # What others are told is for them alone, whatever an admin may see besides.
        return event.user == caller.name
    if caller.admin:
        return True
    if event.user is not None:
        return caller.may_see(event.user)
    if event.kind in OF_QUOTA:
        return sees_quota_of(caller, str(event.data.get("subject", "")))
    if event.kind in OF_BUDGET:
        return event.data.get("group") in caller.groups
    return event.kind in FOR_EVERYBODY
