"""One account for the processes of all users."""

from __future__ import annotations

from collections.abc import Sequence

from hai_scheduler.core.workspace.identity import Identity, UnixGroup


class OneAccount:
    """The port Identities where no user has an account of their own.

    Args:
        gid: The group of builds for groups and for all.
    """

    def __init__(self, gid: int) -> None:
        self._gid = gid

    async def of(self, user: str) -> Identity | None:
        """Return None: all have the platform's one account."""
        del user
        return None

    async def of_account(self, account: str) -> Identity:
        """Return the account of a number, which the settings have checked."""
        return Identity(name="hai-build", uid=int(account), groups=(UnixGroup(gid=self._gid),))

    async def doubled(self) -> Sequence[tuple[int, Sequence[str]]]:
        """Return nothing: that all have one account is meant."""
        return ()
