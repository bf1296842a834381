"""Users in a transaction of the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from hai_scheduler.ports.values import ArchivedUser, UserRecord, UserVisit


class StoredUsers(Protocol):
    """The users that the service has seen, as the Hub last showed them; when they were seen, and who is archived.

    One record, one visit and one archiving for a name.
    """

    async def all(self) -> Sequence[UserRecord]:
        """All users, sorted by name."""
        ...

    async def put(self, user: UserRecord) -> None:
        """Write what the Hub says of a user."""
        ...

    async def visits(self) -> Mapping[str, UserVisit]:
        """The latest known visit of every user, by name."""
        ...

    async def put_visit(self, visit: UserVisit) -> None:
        """Write the latest visit of a user; `admin_at` None leaves what is stored of that."""
        ...

    async def archived(self) -> Mapping[str, ArchivedUser]:
        """The archived users, by name."""
        ...

    async def archive(self, user: ArchivedUser) -> None:
        """Write that a user is archived."""
        ...

    async def restore(self, name: str) -> bool:
        """Remove that; True if the user was archived."""
        ...
