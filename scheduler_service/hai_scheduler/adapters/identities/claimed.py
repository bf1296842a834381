"""Accounts by what the login told: the Hub writes them down when a user signs in."""

from __future__ import annotations

from collections.abc import Sequence

from hai_scheduler.adapters.identities.fixed import OneAccount
from hai_scheduler.adapters.identities.settings import IdentitySettings
from hai_scheduler.core.workspace.identity import Identity, NoIdentity, doubled
from hai_scheduler.store.store import Store


class ClaimedIdentities(OneAccount):
    """The port Identities over the table that the Hub writes."""

    def __init__(self, settings: IdentitySettings, store: Store) -> None:
        super().__init__(settings.gid)
        self._rules = settings.rules
        self._store = store

    async def of(self, user: str) -> Identity | None:
        """Return what the user's latest login told. Raises NoIdentity, Temporary."""
        async with self._store.read() as tx:
            found = (await tx.users.identities()).get(user)
        if found is None:
            raise NoIdentity(
                f"no process is started for the user {user!r}: no login has told a number (uid) of them; sign in at "
                "the Hub once more, or an admin looks which claim has it (identity.claims)"
            )
        return self._rules.checked(user, found)

    async def doubled(self) -> Sequence[tuple[int, Sequence[str]]]:
        """Return numbers that several users have. Raises Temporary."""
        async with self._store.read() as tx:
            found = await tx.users.identities()
        return doubled({user: one.uid for user, one in found.items()})
