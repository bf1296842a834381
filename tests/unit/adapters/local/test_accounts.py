"""The folders of users' accounts. Every account is this process's own: no test needs the rights of root."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from hai_client.linux.identity import Account, NoAccount
from hai_scheduler.adapters.local import accounts as module
from hai_scheduler.adapters.local.accounts import Accounts, users_folder

ME = Account(name="me", uid=os.geteuid(), gid=os.getegid(), groups=[], home="/", shell="/bin/sh")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.fixture
def accounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Accounts:
    monkeypatch.setattr(module, "lacking_rights", list)
    monkeypatch.setattr(module, "closed_folder", lambda _: None)
    return Accounts.open("{username}", tmp_path / "state-users")


def test_the_folder_of_users_lies_beside_the_closed_one() -> None:
    assert users_folder(Path("/var/lib/hai/state")) == Path("/var/lib/hai/state-users")


def test_folders_above_those_of_accounts_can_be_passed_and_not_listed(accounts: Accounts, tmp_path: Path) -> None:
    folders = [tmp_path / "state-users", accounts.checkpoints, accounts._runs]
    assert [mode(folder) for folder in folders] == [0o711] * 3
    accounts.checkpoints.chmod(0o700)
    Accounts.open("{username}", tmp_path / "state-users")
    assert mode(accounts.checkpoints) == 0o711, "a folder from before is opened again"


def test_what_is_missing_for_accounts_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "lacking_rights", lambda: ["CAP_SETUID", "CAP_CHOWN"])
    with pytest.raises(ValueError, match="CAP_SETUID, CAP_CHOWN is missing: start the platform as root"):
        Accounts.open("{username}", tmp_path / "users")
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(module, "lacking_rights", list)
    monkeypatch.setattr(module, "closed_folder", lambda _: "/root")
    with pytest.raises(ValueError, match="/root is closed to them: choose another --state-dir"):
        Accounts.open("{username}", tmp_path / "users")


@pytest.mark.parametrize("user", ["", ".", "..", "a/b", "/etc"])
def test_a_user_whose_name_is_no_folder_has_no_account(accounts: Accounts, user: str) -> None:
    with pytest.raises(NoAccount, match="is no name for a folder"):
        accounts.of(user)


def test_a_rank_gets_a_new_folder_that_only_its_account_may_read(accounts: Accounts) -> None:
    rank = Path("41", "41.1", "0")
    own = accounts.prepare("alice", ME, rank, "hush")
    assert own == accounts._runs / rank
    assert (own / "token").read_text() == "hush"
    assert (mode(own), mode(own.parent), mode(own.parent.parent)) == (0o700, 0o711, 0o711)
    assert mode(own / "token") & 0o077 == 0
    assert mode(accounts.checkpoints / "alice") == 0o700
    (own / "left").touch()
    (accounts.checkpoints / "alice" / "kept").touch()
    assert accounts.prepare("alice", ME, rank, "hush2") == own
    assert sorted(path.name for path in own.iterdir()) == ["token"], "an earlier attempt has left nothing"
    assert (own / "token").read_text() == "hush2"
    assert (accounts.checkpoints / "alice" / "kept").exists()


def test_a_runs_folders_are_removed_and_its_checkpoints_stay(accounts: Accounts, tmp_path: Path) -> None:
    for rank in ("0", "1"):
        accounts.prepare("alice", ME, Path("41", "41.1", rank), "hush")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").touch()
    (accounts._runs / "41" / "41.1" / "0" / "link").symlink_to(outside)
    accounts.prepare("alice", ME, Path("41", "41.2", "0"), "hush")
    accounts.remove(Path("41", "41.1"))
    assert [path.name for path in (accounts._runs / "41").iterdir()] == ["41.2"], "another run goes on"
    assert (outside / "file").exists()
    accounts.remove(Path("41", "41.2"))
    assert list(accounts._runs.iterdir()) == []
    assert (accounts.checkpoints / "alice").is_dir()
    accounts.remove(Path("41", "41.2"))
    assert list(accounts._runs.iterdir()) == [], "once more changes nothing"
