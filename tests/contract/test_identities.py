"""What holds of every adapter of the port Identities."""

from __future__ import annotations

import os
import pwd
from dataclasses import replace
from pathlib import Path

import pytest

from hai_scheduler.adapters.identities.claimed import ClaimedIdentities
from hai_scheduler.adapters.identities.fixed import OneAccount
from hai_scheduler.adapters.identities.passwd_files import PasswdFiles
from hai_scheduler.adapters.identities.settings import IdentitySettings
from hai_scheduler.adapters.local.accounts import Accounts
from hai_scheduler.adapters.local.unix_identities import UnixIdentities, account_of, identity_of
from hai_scheduler.core.workspace.identity import Identity, NoIdentity, UnixGroup
from hai_scheduler.ports.identities import Identities
from kit.stores import ScratchStore

KNOWN = (
    Identity(name="ada", uid=20017, groups=(UnixGroup(gid=20017), UnixGroup(gid=3100, name="cv")), home="/home/ada"),
    Identity(name="bob", uid=20018, groups=(UnixGroup(gid=20018),), home="/home/bob"),
    Identity(name="eve", uid=20017, groups=(UnixGroup(gid=20017),), home="/home/eve"),
    Identity(name="root", uid=0, groups=(UnixGroup(gid=0, name="root"),), home="/root"),
)


@pytest.fixture(params=["file", "claims"])
async def directory(request: pytest.FixtureRequest, tmp_path: Path) -> Identities:
    """An adapter that knows the users above."""
    if request.param == "claims":
        store = ScratchStore()
        async with store.write() as tx:
            for one in KNOWN:
                await tx.users.put_identity(one)
        return ClaimedIdentities(IdentitySettings(source="claims"), store)
    lines = [f"{one.name}:x:{one.uid}:{one.gid}::{one.home}:{one.shell}\n" for one in KNOWN]
    (tmp_path / "passwd").write_text("".join(lines))
    (tmp_path / "group").write_text("root:x:0:\ncv:x:3100:ada\n")
    files = {"passwd": tmp_path / "passwd", "group": tmp_path / "group"}
    return PasswdFiles(IdentitySettings(source="file", **files))


async def test_a_user_has_one_answer(directory: Identities) -> None:
    for one in KNOWN[:3]:
        assert await directory.of(one.name) == await directory.of(one.name) == one


@pytest.mark.parametrize("user", ["root", "nobody-knows", "", "ada:x", "../ada"])
async def test_who_may_be_nobody_is_told_by_name(directory: Identities, user: str) -> None:
    with pytest.raises(NoIdentity, match="no process is started for the user") as caught:
        await directory.of(user)
    assert repr(user) in str(caught.value)


async def test_equal_numbers_are_told(directory: Identities) -> None:
    assert [(uid, list(users)) for uid, users in await directory.doubled()] == [(20017, ["ada", "eve"])]


async def test_builds_have_an_account_of_the_settings(directory: Identities) -> None:
    assert (await directory.of_account("1001")).uid == 1001
    assert (await OneAccount(100).of_account("1001")).groups == (UnixGroup(gid=100),)


async def test_an_account_of_this_machine_is_the_same_there_and_back() -> None:
    """The other cases need root: tests/abuse/test_unix_users.py."""
    own = pwd.getpwuid(os.geteuid()).pw_name
    identities = UnixIdentities(Accounts("{username}", Path("/nonexistent")))
    for user in (own, "hai-test-nobody", ".."):
        with pytest.raises(NoIdentity):
            await identities.of(user)
    for one in KNOWN:
        plain = replace(one, groups=tuple(UnixGroup(gid=group.gid) for group in one.groups))
        assert identity_of(account_of(plain)) == plain
