"""What the service writes down of the users who send requests, and which of them it refuses."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from hai_scheduler.api.server.problems import Refused
from hai_scheduler.ports.clock import Clock
from hai_scheduler.ports.values import UserRecord, UserVisit
from hai_scheduler.service.shared.archived_names import ArchivedNames, archived_sentence
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.store.store import Store

#: How long after a visit the next one is written, in seconds: most requests of a user follow one another.
VISIT_EVERY_S: Final = 600.0


class UserBook:
    """Keeps the store's record of users: their groups, on which quota depends, and when they were last seen."""

    def __init__(self, store: Store, clock: Clock, archived: ArchivedNames) -> None:
        self._store = store
        self._clock = clock
        self._archived = archived
        self._written: dict[str, frozenset[str]] = {}
        #: When a visit was last written, by `Clock.steady`, by name and whether it was with an admin's right.
        self._visits: dict[tuple[str, bool], float] = {}
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def see(self, caller: Caller) -> None:
        """Write what is new of a user. Raises Refused (403) if the user is archived."""
        await self.check(caller)
        if caller.kind != "user" or not self._has_news(caller):
            return
        # Many requests of a new user may come at once: only one of them writes.
        async with self._turns[caller.name]:
            if self._has_news(caller):
                await self._write(caller)

    async def check(self, caller: Caller) -> None:
        """Raise Refused (403) if the user is archived."""
        if caller.kind == "user" and await self._archived.includes(caller.name):
            raise Refused("forbidden", archived_sentence(caller.name))

    async def meet(self, others: Mapping[str, frozenset[str]]) -> None:
        """Write the records of users who have sent no request yet.

        Args:
            others: The groups of users whom the Hub knows, by name.
        """
        async with self._store.read() as tx:
            new = others.keys() - {user.name for user in await tx.users.all()}
        if new:
            async with self._store.write() as tx:
                for name in sorted(new):
                    await tx.users.put(UserRecord(name=name, groups=others[name]))

    def _has_news(self, caller: Caller) -> bool:
        last = self._visits.get((caller.name, caller.admin))
        if last is None or self._clock.steady() - last >= VISIT_EVERY_S:
            return True
        return self._written.get(caller.name) != caller.groups

    async def _write(self, caller: Caller) -> None:
        async with self._store.write() as tx:
            if self._written.get(caller.name) != caller.groups:
                await tx.users.put(UserRecord(name=caller.name, groups=caller.groups))
            now = self._clock.now()
            await tx.users.put_visit(UserVisit(name=caller.name, seen_at=now, admin_at=now if caller.admin else None))
        self._written[caller.name] = caller.groups
        steady = self._clock.steady()
        self._visits[caller.name, caller.admin] = steady
        if caller.admin:
            self._visits[caller.name, False] = steady
