"""The port to who a process is: one answer for the tasks, development containers and builds of a user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hai_scheduler.core.workspace.identity import Identity


class Identities(Protocol):
    """The accounts that processes run as."""

    async def of(self, user: str) -> Identity | None:
        """The account of a user's processes, checked; None: all users' processes have the platform's one account.

        Raises:
            NoIdentity: The user has none, or one that no user may have.
            Temporary: It cannot be found out now.
        """
        ...

    async def of_account(self, account: str) -> Identity:
        """The account of builds for groups and for all, by its name or number in the settings. Raises NoIdentity."""
        ...

    async def doubled(self) -> Sequence[tuple[int, Sequence[str]]]:
        """Numbers that several users have, with these users: they can read and change the files of each other.

        Raises Temporary.
        """
        ...
