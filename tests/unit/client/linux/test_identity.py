"""Unix accounts of tasks: which may be used, and what a process may do while it acts as one.

Switching needs root; tests of it are skipped without.
"""

from __future__ import annotations

import os
import pwd
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hai_client.linux import identity
from hai_client.linux.identity import (
    Account,
    NoAccount,
    account_named,
    acting_as,
    closed_folder,
    find_account,
    lacking_rights,
)

CLIENT = Path(identity.__file__).parents[2]
NOBODY = "nobody"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may act as another account")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every account can enter and write."""
    if closed_folder(tempfile.gettempdir()) is not None:
        pytest.skip(f"{tempfile.gettempdir()} is closed to other accounts")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        folder.chmod(0o777)
        yield folder


def test_the_account_of_a_user_is_found_by_the_template() -> None:
    entry = pwd.getpwnam(NOBODY)
    for template, user in (("{username}", NOBODY), ("no{username}", "body"), (NOBODY, "anybody")):
        found = find_account(template, user)
        assert (found.name, found.uid, found.gid, found.home) == (NOBODY, entry.pw_uid, entry.pw_gid, entry.pw_dir)
        assert found.gid in found.groups


@pytest.mark.parametrize(
    ("user", "says"),
    [
        ("no-such-user", r"no Unix account 'hai-no-such-user' for the user 'no-such-user'.*useradd --create-home hai-"),
        ("a\0b", "there is no Unix account"),
        ("", "there is no Unix account 'hai-'"),
    ],
)
def test_a_user_without_an_account_is_told_what_an_admin_can_do(user: str, says: str) -> None:
    with pytest.raises(NoAccount, match=says):
        find_account("hai-{username}", user)


def an_account(uid: int) -> Account:
    return Account(name="it", uid=uid, gid=uid, groups=[uid], home="/", shell="/bin/sh")


@pytest.mark.parametrize(
    ("uid", "own", "says"), [(0, 500, "which is root"), (500, 500, "the platform's own account"), (0, 0, "root")]
)
def test_nobody_runs_as_root_or_as_the_platform(monkeypatch: pytest.MonkeyPatch, uid: int, own: int, says: str) -> None:
    monkeypatch.setattr(identity, "account_named", lambda name: an_account(uid))
    monkeypatch.setattr(identity.os, "geteuid", lambda: own)
    with pytest.raises(NoAccount, match=says):
        find_account("{username}", "ann")


def test_an_entry_without_a_home_or_a_shell_has_usual_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = pwd.struct_passwd(("it", "x", 500, 500, "", "", ""))
    monkeypatch.setattr(pwd, "getpwnam", lambda name: entry)
    monkeypatch.setattr(identity.os, "getgrouplist", lambda name, gid: [gid])
    found = account_named("it")
    assert found is not None
    assert (found.home, found.shell) == ("/", "/bin/sh")


@pytest.mark.parametrize(
    ("line", "lacking"),
    [
        ("CapEff:\t000001ffffffffff", []),
        ("CapEff:\t0000000000000000", ["CAP_CHOWN", "CAP_KILL", "CAP_SETGID", "CAP_SETUID"]),
        ("CapEff:\t00000000000000c1", ["CAP_KILL"]),
    ],
)
def test_rights_that_are_lacking_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, line: str, lacking: list[str]
) -> None:
    status = tmp_path / "status"
    status.write_text(f"Name:\tx\nCapPrm:\t000001ffffffffff\n{line}\n")
    real = open
    monkeypatch.setattr(identity, "open", lambda path, **more: real(status, **more), raising=False)
    assert lacking_rights() == lacking


def test_where_rights_cannot_be_read_all_are_lacking(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str, **_: object) -> object:
        raise PermissionError(path)

    monkeypatch.setattr(identity, "open", refuse, raising=False)
    assert len(lacking_rights()) == len(identity.NEEDED)


def test_the_first_folder_that_others_cannot_enter_is_named(open_folder: Path) -> None:
    inner = open_folder / "a" / "b"
    inner.mkdir(parents=True)
    for folder in (open_folder / "a", inner):
        folder.chmod(0o755)
    assert closed_folder(str(inner)) is None
    assert closed_folder(str(inner / "not made yet")) is None
    inner.chmod(0o750)
    assert closed_folder(str(inner)) == str(inner)
    (open_folder / "a").chmod(0o700)
    assert closed_folder(str(inner / "deeper")) == str(open_folder / "a")


def test_it_is_the_folder_behind_a_link_that_counts(open_folder: Path) -> None:
    (open_folder / "real").mkdir(mode=0o700)
    (open_folder / "link").symlink_to(open_folder / "real")
    assert closed_folder(str(open_folder / "link")) == str(open_folder / "real")


def test_it_is_the_folder_of_a_link_to_a_file_that_counts_too(open_folder: Path) -> None:
    """As of a venv in root's home, whose Python is a link to the system's."""
    (open_folder / "venv").mkdir(mode=0o700)
    (open_folder / "venv" / "python").symlink_to("/bin/sh")
    assert closed_folder(str(open_folder / "venv" / "python")) == str(open_folder / "venv")


def test_without_an_account_nothing_changes(tmp_path: Path) -> None:
    with acting_as(None):
        (tmp_path / "a").touch()
    assert (tmp_path / "a").stat().st_uid == os.geteuid()


@as_root
def test_files_are_touched_with_the_rights_of_the_account_alone(open_folder: Path) -> None:
    account = account_named(NOBODY)
    assert account is not None
    secret = open_folder / "secret"
    secret.write_text("x")
    secret.chmod(0o600)
    with acting_as(account):
        with pytest.raises(PermissionError):
            secret.read_text()
        (open_folder / "made").touch()
        assert os.geteuid() == 0, "signals of the job do not reach this process"
    made = (open_folder / "made").stat()
    assert (made.st_uid, made.st_gid) == (account.uid, account.gid)
    assert secret.read_text() == "x"


@as_root
def test_an_error_inside_leaves_the_process_as_it_was(open_folder: Path) -> None:
    with pytest.raises(ValueError, match="inside"), acting_as(account_named(NOBODY)):
        raise ValueError("inside")
    (open_folder / "mine").touch()
    assert (open_folder / "mine").stat().st_uid == 0


def test_an_account_that_this_process_may_not_act_as_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing:
        """A kernel that changes nothing; it reports that only by the number that stays."""

        def prctl(self, *_: object) -> int:
            return 0

        def setfsuid(self, number: object) -> int:
            return os.geteuid()

        def setfsgid(self, number: object) -> int:
            return os.getegid()

    monkeypatch.setattr(identity, "_libc", Refusing())
    entered = False
    with pytest.raises(PermissionError, match="setfsgid"), acting_as(an_account(54321)):
        entered = True
    assert not entered


SWITCH = """
import json, os, sys
from hai_client.linux import identity, processes
identity.become(identity.account_named("nobody"), no_new_privs=sys.argv[1] == "1")
status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
back = True
try:
    os.setuid(0)
except PermissionError:
    back = False
print(json.dumps([status["Uid"].split(), status["Gid"].split(), int(status["CapEff"], 16),
                  status["NoNewPrivs"].strip(), os.umask(0), back, os.getgroups()]))
"""
PARENT = """
import ctypes, signal
from hai_client.linux import identity, processes
processes.prctl(processes.PR_SET_PDEATHSIG, signal.SIGUSR2)
with identity.acting_as(identity.account_named("nobody")):
    pass
found = ctypes.c_int(0)
ctypes.CDLL(None).prctl(2, ctypes.byref(found), 0, 0, 0)
print(found.value)
"""


def run(code: str, *words: str) -> str:
    env = {"PYTHONPATH": str(CLIENT), "PATH": os.environ["PATH"]}
    return subprocess.run(
        [sys.executable, "-c", code, *words], env=env, check=True, capture_output=True, text=True
    ).stdout


@as_root
@pytest.mark.parametrize("no_new_privs", ["0", "1"])
def test_a_program_becomes_the_account_for_good(no_new_privs: str) -> None:
    import json

    entry = pwd.getpwnam(NOBODY)
    uids, gids, rights, no_privs, umask, back, groups = json.loads(run(SWITCH, no_new_privs))
    assert (uids, gids) == ([str(entry.pw_uid)] * 4, [str(entry.pw_gid)] * 4)
    assert (rights, no_privs, back) == (0, no_new_privs, False)
    assert sorted(groups) == sorted(os.getgrouplist(NOBODY, entry.pw_gid)), "none of the platform's own"
    assert umask == stat.S_IRWXG | stat.S_IRWXO


@as_root
def test_the_end_of_the_parent_is_still_heard_of_afterwards() -> None:
    assert run(PARENT) == "12\n"
