"""Users in a transaction of the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hai_scheduler.ports.values import UserRecord


class StoredUsers(Protocol):
    """The users that the service has seen, as the Hub last showed them."""

    async def all(self) -> Sequence[UserRecord]:
        """All users, sorted by name."""
        ...

    async def put(self, user: UserRecord) -> None:
        """Write what the Hub says of a user."""
        ...
