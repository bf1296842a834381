"""Who a user's processes are on one machine: the Unix accounts of `hai up --unix-users`, as the port Identities."""

from __future__ import annotations

import grp
from collections.abc import Sequence
from dataclasses import replace

from hai_client.linux.identity import Account, NoAccount
from hai_scheduler.adapters.local.accounts import Accounts
from hai_scheduler.core.workspace.identity import Identity, NoIdentity, UnixGroup
from hai_scheduler.ports.reading import in_reader


class UnixIdentities:
    """The port Identities over the accounts of this machine."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    async def of(self, user: str) -> Identity | None:
        """Return the Unix account of the user. Raises NoIdentity."""
        return await in_reader(lambda: self._found(user, None))

    async def of_account(self, account: str) -> Identity:
        """Return the Unix account of that name. Raises NoIdentity."""
        return await in_reader(lambda: self._found("the builds", account))

    async def doubled(self) -> Sequence[tuple[int, Sequence[str]]]:
        """Return nothing: a template may give several users one account."""
        return ()

    def _found(self, user: str, account: str | None) -> Identity:
        try:
            found = identity_of(self._accounts.of(user, account))
        except NoAccount as error:
            raise NoIdentity(str(error)) from None
        return replace(found, groups=tuple(replace(group, name=_name_of(group.gid)) for group in found.groups))


def _name_of(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except (KeyError, OverflowError):
        return ""


def identity_of(account: Account) -> Identity:
    """Return a Unix account as a value of the core."""
    others = (gid for gid in account.groups if gid != account.gid)
    return Identity(
        name=account.name,
        uid=account.uid,
        groups=tuple(UnixGroup(gid=gid) for gid in (account.gid, *others)),
        home=account.home,
        shell=account.shell,
    )


def account_of(identity: Identity) -> Account:
    """Return the Unix account of an identity that `identity_of` has made."""
    return Account(
        name=identity.name,
        uid=identity.uid,
        gid=identity.gid,
        groups=[group.gid for group in identity.groups],
        home=identity.home,
        shell=identity.shell,
    )
