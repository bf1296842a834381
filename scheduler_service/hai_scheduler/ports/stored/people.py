"""Visits of users, and archived users, in a transaction of the store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from hai_scheduler.ports.values import ArchivedUser, UserVisit


class StoredPeople(Protocol):
    """What the service remembers of users beside what the Hub says of them: one visit, one archiving for a name."""

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
