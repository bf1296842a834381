"""The port Identities in pods: one account, files, and what logins told."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from hai_scheduler.adapters.identities.claimed import ClaimedIdentities
from hai_scheduler.adapters.identities.fixed import OneAccount
from hai_scheduler.adapters.identities.passwd_files import PasswdFiles
from hai_scheduler.adapters.identities.settings import IdentitySettings
from hai_scheduler.core.workspace.identity import Identity, IdentityRules, NoIdentity, UnixGroup
from hai_scheduler.ports.errors import Temporary
from kit.stores import ScratchStore

RULES = IdentityRules(own_uids=frozenset({1000}))


def line(name: str, uid: int) -> str:
    return f"{name}:x:{uid}:{uid}::/home/{name}:/bin/sh\n"


def write(file: Path, text: str) -> None:
    """Write it as a ConfigMap is: another file takes the place."""
    new = file.with_suffix(".new")
    new.write_text(text)
    new.replace(file)


@pytest.fixture
def files(tmp_path: Path) -> PasswdFiles:
    write(tmp_path / "passwd", line("ada", 20017) + line("root", 0) + line("hai", 1000))
    write(tmp_path / "group", "cv:x:3100:ada\n")
    settings = IdentitySettings(source="file", rules=RULES, passwd=tmp_path / "passwd", group=tmp_path / "group")
    return PasswdFiles(settings)


async def test_one_account_is_nobodys_own_and_builds_have_a_number() -> None:
    fixed = OneAccount(100)
    assert await fixed.of("ada") is None
    build = await fixed.of_account("1001")
    assert (build.uid, build.gid) == (1001, 100)
    assert list(await fixed.doubled()) == []


async def test_files_are_read_and_their_accounts_checked(files: PasswdFiles) -> None:
    ada = await files.of("ada")
    assert ada is not None
    assert (ada.uid, ada.others) == (20017, (3100,))
    for user in ("root", "hai", "eve"):
        with pytest.raises(NoIdentity):
            await files.of(user)


async def test_a_changed_file_is_read_again_and_a_lost_one_is_remembered(
    files: PasswdFiles, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert await files.of("ada") is not None
    write(tmp_path / "passwd", line("ada", 20099) + line("bob", 20099))
    ada = await files.of("ada")
    assert ada is not None
    assert ada.uid == 20099
    assert list(await files.doubled()) == [(20099, ["ada", "bob"])]
    (tmp_path / "passwd").unlink()
    with caplog.at_level(logging.WARNING):
        assert await files.of("ada") == ada
    assert "what was read last counts" in caplog.text


@pytest.mark.parametrize("content", [None, b"\xff\xfe"], ids=["missing", "no text"])
async def test_without_a_file_to_begin_with_the_question_is_asked_again_later(
    tmp_path: Path, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / "passwd").write_bytes(content)
    with pytest.raises(Temporary, match="cannot be read"):
        await PasswdFiles(IdentitySettings(source="file", passwd=tmp_path / "passwd")).of("ada")


async def test_what_a_login_told_counts_until_another_login_tells_else() -> None:
    store = ScratchStore()
    claimed = ClaimedIdentities(IdentitySettings(source="claims", rules=RULES), store)
    with pytest.raises(NoIdentity, match="no login has told"):
        await claimed.of("ada")
    ada = Identity(name="ada", uid=20017, groups=(UnixGroup(gid=20017), UnixGroup(gid=3100, name="cv")), home="/h/ada")
    root = Identity(name="eve", uid=0, groups=(UnixGroup(gid=5),))
    same = Identity(name="bob", uid=20017, groups=(UnixGroup(gid=5),))
    async with store.write() as tx:
        for one in (ada, root, same):
            await tx.users.put_identity(one)
    assert await claimed.of("ada") == ada
    with pytest.raises(NoIdentity, match="is root's"):
        await claimed.of("eve")
    assert list(await claimed.doubled()) == [(20017, ["ada", "bob"])]
    async with store.write() as tx:
        await tx.users.remove_identity("ada")
    with pytest.raises(NoIdentity):
        await claimed.of("ada")
