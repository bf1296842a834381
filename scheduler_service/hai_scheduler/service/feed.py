"""History as it happens: the events of the store, woken by the bus, resumable from any number."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Final

from hai_scheduler.ports import Bus, Event, Store
from hai_scheduler.service.caller import Caller
from hai_scheduler.service.decision_log import VERDICT
from hai_scheduler.service.effects import FEED
from hai_scheduler.service.queries import sees_quota_of, whose

#: Events that are read from the store at once: what a slow reader can hold in memory.
PAGE = 200
#: Kinds of events without an owner that every reader gets. They tell what `GET /nodes`, `/cluster` and `/policy`, which
#: every reader may ask, show anyway. A kind that is not listed is for admins.
FOR_EVERYBODY: Final = frozenset({"node.mark", "cluster.paused", "cluster.resumed", "policy.changed"})
#: Kinds of events that tell of a row of quota: for those for whom the row can count.
OF_QUOTA: Final = frozenset({"quota.put", "quota.deleted"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """Events of a user and of the cluster, in order, each once.

    What a task waits for (`task.verdict`) is left out: such lines are many, nothing has happened to the task, and
    every panel would read everything again for each. They are in the task's own history.
    """

    store: Store
    bus: Bus
    #: Longest time between two looks, in seconds: a lost ring costs no more than that.
    look_every: float = 2.0

    async def begin(self, after: int | None) -> int:
        """Where a reader starts who has seen everything up to `after` (None: who wants only what comes now).

        A number from the future, as after a restored backup, starts now.
        """
        async with self.store.read() as tx:
            last = await tx.last_event_seq()
        return last if after is None else min(after, last)

    async def follow(
        self, caller: Caller, *, after: int, user: str | None = None
    ) -> AsyncGenerator[Event | None, None]:
        """Events after that number, for ever; None when a look has found nothing new.

        `user` is as in `Queries.tasks`. Raises NotAllowed at the first step.
        """
        only = whose(caller, user)
        async with self.bus.listen(FEED) as ears:
            while True:
                async with self.store.read() as tx:
                    page = await tx.events(after=after, limit=PAGE, user=only)
                for event in page:
                    after = event.seq
                    if event.kind != VERDICT and may_see(caller, event):
                        yield event
                if len(page) < PAGE:
                    yield None
                    await ears.wait(self.look_every)


def may_see(caller: Caller, event: Event) -> bool:
    """Whether an event is for the caller.

    An admin may see all. Everybody else sees what happens to his own tasks, the listed events of the cluster, and
    changes of quota that can count for him.
    """
    if caller.admin:
        return True
    if event.user is not None:
        return caller.may_see(event.user)
    if event.kind in OF_QUOTA:
        return sees_quota_of(caller, str(event.data.get("subject", "")))
    return event.kind in FOR_EVERYBODY
