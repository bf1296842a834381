"""Keeps the groups of users as the Hub has them, though they send no request: quota of what waits goes by them."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.values import UserRecord
from hai_scheduler.service.shared.doorbell import ring_change
from hai_scheduler.service.shared.world import UseCase

log = logging.getLogger(__name__)

#: Seconds between two looks at the Hub's groups.
EVERY_S: Final = 15.0

#: Returns the groups of all users of the Hub who are in one; None: the Hub does not say them now.
GroupsOfUsers = Callable[[], Awaitable[Mapping[str, frozenset[str]] | None]]


@dataclass(slots=True, eq=False)
class GroupsInStep(UseCase):
    """Looks regularly who is in which group."""

    ask: GroupsOfUsers

    async def run(self) -> None:
        """Look until it is cancelled. While the Hub or the database does not answer, the groups of before count."""
        while True:
            try:
                await self.look()
            except Temporary as error:
                log.debug("the groups of users are looked at again: %s", error)
            await self.clock.sleep(EVERY_S)

    async def look(self) -> int:
        """Write the groups of the users whose groups are others now; returns how many users these are.

        Raises:
            Temporary: The database cannot do it now.
        """
        told = await self.ask()
        if told is None:
            return 0
        none: frozenset[str] = frozenset()
        async with self.store.read() as tx:
            moved = [user for user in await tx.users.all() if user.groups != told.get(user.name, none)]
        if not moved:
            return 0
        async with self.store.write() as tx:
            for user in moved:
                await tx.users.put(UserRecord(name=user.name, groups=told.get(user.name, none)))
        await ring_change(self.bus)
        return len(moved)
